// An application of the official SDK whose names, inputs, outputs, errors and log lines are markup,
// and whose schemas are odd. Everything that a page shows of it is hostile or broken.

import { genkit, z } from 'genkit';

import { PAYLOAD } from './payload.mjs';

const ai = genkit({});

ai.defineFlow(PAYLOAD.replaceAll('/', ''), async () => PAYLOAD);

ai.defineFlow({ name: 'echo', inputSchema: z.any(), outputSchema: z.any() }, async (input) => {
  console.log(`${PAYLOAD} was the input`);
  return { input, text: PAYLOAD, nested: { [PAYLOAD]: [PAYLOAD, '{{constructor.constructor("window.executed=1")()}}'] } };
});

ai.defineFlow({ name: 'fails', inputSchema: z.any() }, async () => {
  throw new Error(`${PAYLOAD} is the reason`);
});

const Tree = z.object({
  name: z.string().nullable().describe(PAYLOAD),
  size: z.union([z.number(), z.literal('large'), z.null()]),
});
ai.defineFlow({ name: 'odd', inputSchema: Tree }, async (input) => input);

const tool = (name, inputJsonSchema) =>
  ai.defineTool({ name, description: PAYLOAD, inputJsonSchema, outputSchema: z.any() }, async (input) => input);
tool('recursive', {
  $ref: '#/$defs/node',
  $defs: { node: { type: 'object', properties: { value: { type: 'string' }, next: { $ref: '#/$defs/node' } } } },
});
tool('broken', { type: 'nonsense', properties: 7, $ref: '#/nowhere', required: 'all' });
