// Genkit JS served by @genkit-ai/express: the peer for flows and agents over the action HTTP protocol.
// CommonJS on purpose: as an ES module the express package masks every error.
const { genkit, z, InMemorySessionStore } = require('genkit/beta');
const { logger } = require('genkit/logging');
const { expressHandler } = require('@genkit-ai/express');
const express = require('express');

logger.setLogLevel('error');
const ai = genkit({ promptDir: null });
const tick = () => new Promise((r) => setImmediate(r));

ai.defineModel({ name: 'local/twenty', apiVersion: 'v2' }, async (_, { sendChunk }) => {
  let text = '';
  for (let i = 0; i < 20; i++) {
    const piece = `word${i} `;
    text += piece;
    sendChunk({ content: [{ text: piece }] });
    await null;
  }
  return { finishReason: 'stop', message: { role: 'model', content: [{ text }] } };
});

const echo = ai.defineFlow({ name: 'echo', inputSchema: z.any(), outputSchema: z.any() }, async (x) => x);
const count = ai.defineFlow(
  { name: 'count', inputSchema: z.object({ n: z.number(), paced: z.boolean().optional() }), outputSchema: z.object({ count: z.number() }) },
  async ({ n, paced }, { sendChunk }) => {
    for (let i = 0; i < n; i++) {
      sendChunk({ i, text: 'a small chunk' });
      if (paced) await tick(); // each chunk leaves in its own turn of the event loop, as chunks of a remote model do
    }
    return { count: n };
  }
);
const hang = ai.defineFlow({ name: 'hang', inputSchema: z.any(), outputSchema: z.any() }, async (_, { sendChunk }) => {
  sendChunk({ i: 0, text: 'a small chunk' });
  await new Promise((r) => setTimeout(r, 900000));
});

const chat = ai.defineAgent({ name: 'chat', model: 'local/twenty', store: new InMemorySessionStore() });

const app = express();
app.use(express.json({ limit: '32mb' }));
app.get('/health', (_, res) => res.send('OK'));
app.post('/echo', expressHandler(echo));
app.post('/count', expressHandler(count));
app.post('/hang', expressHandler(hang));
app.post('/chat', expressHandler(chat));
app.listen(+(process.env.PORT || 3510), '127.0.0.1');
