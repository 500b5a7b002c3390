// The agents of ../app on the official express server, for oxikit's client to talk
// to. CommonJS on purpose: in an ES module the errors of @genkit-ai/express 1.42.0
// lose their class, and all become 500 INTERNAL.
//
// Listens on 127.0.0.1 and the port of PORT (0 takes a free one), and says where.
// AGENT_FILES is the directory of the agents that keep their sessions in files;
// without it there are none.

const express = require('express');
const {
  genkit,
  z,
  GenkitError,
  FileSessionStore,
  InMemorySessionStore,
} = require('genkit/beta');
const { getCurrentSession } = require('@genkit-ai/ai/session');
const { expressHandler } = require('@genkit-ai/express');

const ai = genkit({});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const app = express();
app.use(express.json({ limit: '16mb' }));

/** Serves an agent and what belongs to it, where clients look for it. */
function serve(agent) {
  const path = `/${agent.__action.name}`;
  app.post(path, expressHandler(agent));
  app.post(`${path}/getSnapshot`, expressHandler(agent.getSnapshotDataAction));
  app.post(`${path}/abort`, expressHandler(agent.abortAgentAction));
}

const textOf = (message) => message.content.map((part) => part.text ?? '').join('');

function answer(content) {
  return { message: { role: 'model', content }, finishReason: 'stop' };
}

function speak(words, sendChunk) {
  for (const text of words) sendChunk({ index: 0, content: [{ text }] });
  return answer([{ text: words.join('') }]);
}

ai.defineModel({ name: 'echo', supports: { tools: true, multiturn: true } }, async (request, sendChunk) => {
  const said = request.messages.filter((message) => message.role !== 'system');
  const last = said.at(-1);
  if (last.role === 'tool') {
    const outputs = last.content.map((part) => JSON.stringify(part.toolResponse.output));
    return speak(['tool said ', outputs.join(',')], sendChunk);
  }
  const text = textOf(last);
  const tool = /^\/tool (\S+) (\{.*\})(?: (\S+))?$/.exec(text);
  if (tool) {
    const [, name, input, ref = 'ref1'] = tool;
    return answer([{ text: 'calling' }, { toolRequest: { name, input: JSON.parse(input), ref } }]);
  }
  if (text === '/two') {
    return answer([
      { toolRequest: { name: 'getWeather', input: { city: 'Oslo' }, ref: 'w1' } },
      { toolRequest: { name: 'confirm', input: { q: 'sure?' }, ref: 'c1' } },
    ]);
  }
  if (text === '/fail') {
    throw new GenkitError({ status: 'UNAVAILABLE', message: 'model down', detail: { retry: true } });
  }
  if (text === '/slow') {
    for (let number = 0; number < 100; number++) {
      sendChunk({ index: 0, content: [{ text: `${number} ` }] });
      await sleep(50);
    }
    return answer([{ text: 'at last' }]);
  }
  return speak([`echo(${said.length}): `, ...text.split(/(?<= )/)], sendChunk);
});

const getWeather = ai.defineTool(
  {
    name: 'getWeather',
    description: 'Gets weather',
    inputSchema: z.object({ city: z.string() }),
    outputSchema: z.object({ tempC: z.number() }),
  },
  async () => ({ tempC: 11 }),
);
const confirm = ai.defineInterrupt({
  name: 'confirm',
  description: 'Asks the user',
  inputSchema: z.object({ q: z.string() }),
});
const danger = ai.defineTool(
  { name: 'danger', description: 'Deletes', inputSchema: z.object({ path: z.string() }) },
  async ({ path }, { interrupt, resumed }) => {
    if (!resumed) interrupt({ why: 'needs approval' });
    return `deleted ${path} (${JSON.stringify(resumed)})`;
  },
);
const remember = ai.defineTool(
  {
    name: 'remember',
    description: 'Remembers',
    inputSchema: z.object({ k: z.string(), v: z.any() }),
  },
  async ({ k, v }) => {
    const session = getCurrentSession(ai.registry);
    session.updateCustom((custom) => ({ ...custom, [k]: v }));
    session.updateCustom((custom) => ({ ...custom, n: (custom?.n ?? 0) + 1 }));
    session.addArtifacts([{ name: k, parts: [{ text: String(v) }] }]);
    return 'ok';
  },
);

function byPrompt(name, options) {
  const tools = [getWeather, confirm, danger, remember];
  serve(ai.defineAgent({ name, model: 'echo', system: 'You are sys.', tools, ...options }));
}

function custom(name, store) {
  const quota = () =>
    new GenkitError({ status: 'RESOURCE_EXHAUSTED', message: 'quota', detail: { a: 1 } });
  const agent = ai.defineCustomAgent({ name, store }, async (session, { sendChunk, abortSignal }) => {
    let message;
    await session.run(async (input) => {
      const text = textOf(input.message);
      if (text.startsWith('fail')) throw quota();
      const wait = /^wait (\d+)$/.exec(text);
      for (const end = Date.now() + Number(wait?.[1] ?? 0); Date.now() < end; await sleep(10)) {
        if (abortSignal?.aborted) throw new Error('stopped');
      }
      session.updateCustom((state) => ({ ...state, turns: (state?.turns ?? 0) + 1, last: text }));
      if (text === 'patchfail') throw quota();
      session.updateCustom((state) => ({
        ...state,
        list: [...(state.list ?? []), text],
        'a/b~c': text.length,
      }));
      session.addArtifacts([{ name: 'doc', parts: [{ text }] }]);
      message = { role: 'model', content: [{ text: `custom:${text}` }] };
      sendChunk({ modelChunk: message });
      session.addMessages([message]);
      return { finishReason: 'stop' };
    });
    return { message, artifacts: session.getArtifacts() };
  });
  serve(agent);
}

function redacted(name, store) {
  const clientTransform = {
    state: ({ custom, ...state }) => ({ ...state, custom: custom && { visible: custom.visible } }),
    chunk: (chunk) => (chunk.modelChunk ? null : chunk),
  };
  const agent = ai.defineCustomAgent({ name, store, clientTransform }, async (session, { sendChunk }) => {
    await session.run(async () => {
      session.updateCustom(() => ({ visible: 1, secret: 'hunter2' }));
      sendChunk({ modelChunk: { role: 'model', content: [{ text: 'hunter2' }] } });
    });
    return { message: { role: 'model', content: [{ text: 'ok' }] } };
  });
  serve(agent);
}

byPrompt('agentStore', { store: new InMemorySessionStore() });
byPrompt('agentClient');
byPrompt('agentSchema', { stateSchema: z.object({ n: z.number() }) });
custom('customAgent', new InMemorySessionStore());
redacted('redacted');
redacted('redactedStore', new InMemorySessionStore());
if (process.env.AGENT_FILES) {
  byPrompt('agentFile', { store: new FileSessionStore(process.env.AGENT_FILES) });
  custom('customFile', new FileSessionStore(process.env.AGENT_FILES));
}

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
