// An application of the official SDK whose names and values are unusual: long, large, deep, right to
// left, full of control characters, or equal to names of JavaScript's own members.

import { genkit, z } from 'genkit';

const ai = genkit({});
const any = (name, run) => ai.defineFlow({ name, inputSchema: z.any(), outputSchema: z.any() }, run);

export const LONG = `long-${'n'.repeat(300)}`;

any(LONG, async () => 'w'.repeat(5000));
any('שלום-مرحبا', async () => 'שלום עולם مرحبا بالعالم');
any('__proto__', async () => ({ constructor: 1, ['__proto__x']: 2, toString: 3 }));
any('spaces and #?%&+;', async (input) => input);
any('emoji-👩‍👩‍👧‍👦', async () => '👩‍👩‍👧‍👦 \u0000\u001b[31m\u202e txt.exe');
any('large', async () => ({ text: 'x'.repeat(10_000_000) }));
any('wide', async () => Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`member${at}`, at])));
any('deep', async () => {
  let value = 'bottom';
  for (let at = 0; at < 60; at += 1) value = { inner: value };
  return value;
});
ai.defineFlow({ name: 'chatty', inputSchema: z.any(), outputSchema: z.any(), streamSchema: z.any() }, async (_, { sendChunk }) => {
  for (let at = 0; at < 20_000; at += 1) sendChunk(`word${at} `);
  return 'done';
});
