// The recorded test application on the official express server, for oxikit's
// client to call. CommonJS on purpose: in an ES module the errors of
// @genkit-ai/express 1.42.0 lose their class, and all become 500 INTERNAL.
//
// Listens on 127.0.0.1 and the port of PORT (0 takes a free one), and says where.

const express = require('express');
const { genkit, z, GenkitError, UserFacingError, InMemoryStreamManager } = require('genkit/beta');
const { apiKey } = require('genkit/context');
const { expressHandler } = require('@genkit-ai/express');

const ai = genkit({});
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const app = express();
app.use(express.json({ limit: '16mb' }));

/** Defines a flow and serves it under its name. */
function serve(config, run, options) {
  app.post(`/${config.name}`, expressHandler(ai.defineFlow(config, run), options));
}

async function count({ n, delay }, { sendChunk }) {
  for (let count = 0; count < n; count++) {
    if (delay) await sleep(delay);
    sendChunk({ count });
  }
  return 'done';
}

async function slow({ n, delay }, { sendChunk }) {
  for (let k = 0; k < n; k++) {
    await sleep(delay);
    sendChunk({ k });
  }
  return { finished: true };
}

async function throwing({ kind, chunks, status, message, details }, { sendChunk }) {
  for (let k = 0; k < (chunks ?? 0); k++) sendChunk({ k });
  if (kind === 'plain') throw new Error('a plain error, with the password hunter2');
  if (kind === 'user') throw new UserFacingError(status, message ?? 'user msg', details);
  throw new GenkitError({ status, message, detail: details });
}

serve({ name: 'echo' }, async (got) => ({ got: got === undefined ? 'undefined' : got }));
serve(
  { name: 'typed', inputSchema: z.object({ question: z.string(), n: z.number().optional() }) },
  async ({ question }) => `q=${question}`,
);
serve({ name: 'voidIn' }, async () => 'banana');
serve({ name: 'undefOut' }, async () => undefined);
serve({ name: 'count' }, count);
serve({ name: 'uni' }, async (_, { sendChunk }) => {
  for (const chunk of ['héllo 😀 \n\n newline', null, 0, {}]) sendChunk(chunk);
  return 'é😀';
});
serve({ name: 'lines' }, async ({ n, text }, { sendChunk }) => {
  for (let i = 0; i < n; i++) sendChunk(text);
  return text;
});
serve({ name: 'big' }, async ({ size }, { sendChunk }) => {
  sendChunk('x'.repeat(size));
  return { len: size };
});
serve({ name: 'slow' }, slow);
serve({ name: 'throwing' }, throwing);
serve({ name: 'authed' }, async (_, { context }) => ({ context }), {
  contextProvider: apiKey('sekret'),
});
serve({ name: 'ctxFlow' }, async (i, { context }) => ({ i, seen: context.seen }), {
  contextProvider: (request) => ({ seen: request.headers }),
});
serve({ name: 'initFlow', initSchema: z.object({ sid: z.string() }) }, async (i, { init }) => ({
  i,
  init,
}));
const streamManager = new InMemoryStreamManager();
serve({ name: 'durableCount' }, count, { streamManager });
serve({ name: 'durableSlow' }, slow, { streamManager });
serve({ name: 'durableThrowing' }, throwing, { streamManager });

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
