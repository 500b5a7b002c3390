// The application of the reflection suites, with what only these ask for: who runs it,
// and an agent that asks back.
import { z, InMemorySessionStore } from 'genkit/beta';
import { ai } from '../../reflection/js/app.mjs';

ai.defineFlow({ name: 'whoami', inputSchema: z.any() }, async () => ({ pid: process.pid, name: process.env.APP_NAME }));

ai.defineModel({ name: 'asking', apiVersion: 'v2', supports: { tools: true, multiturn: true } }, async ({ messages }) => {
  const answer = messages.at(-1).content.find((part) => part.toolResponse)?.toolResponse.output;
  const ask = { toolRequest: { name: 'askUser', ref: 'q1', input: { question: 'really?' } } };
  const part = answer === undefined ? ask : { text: `you said ${answer}` };
  return { finishReason: 'stop', message: { role: 'model', content: [part] } };
});
ai.defineAgent({ name: 'askingAgent', model: 'asking', tools: ['askUser'], store: new InMemorySessionStore() });
