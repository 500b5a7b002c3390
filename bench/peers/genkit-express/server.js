// Genkit JS served by @genkit-ai/express: the peer for flows over the action HTTP protocol.
// CommonJS on purpose: as an ES module the express package masks every error.
const { genkit, z } = require('genkit');
const { logger } = require('genkit/logging');
const { expressHandler } = require('@genkit-ai/express');
const express = require('express');

logger.setLogLevel('error');
const ai = genkit({ promptDir: null });
const tick = () => new Promise((r) => setImmediate(r));

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

const app = express();
app.use(express.json({ limit: '32mb' }));
app.get('/health', (_, res) => res.send('OK'));
app.post('/echo', expressHandler(echo));
app.post('/count', expressHandler(count));
app.post('/hang', expressHandler(hang));
app.listen(+(process.env.PORT || 3510), '127.0.0.1');
