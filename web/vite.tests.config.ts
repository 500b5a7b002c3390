import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig } from 'vite';

/** Builds the tests for Node, which runs them: `npm test`. */
const tests = join(import.meta.dirname, 'tests');

export default defineConfig({
  build: {
    ssr: true,
    outDir: join(import.meta.dirname, 'node_modules/.oxikit-tests'),
    emptyOutDir: true,
    target: 'node20',
    rollupOptions: {
      input: readdirSync(tests)
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => join(tests, name)),
    },
  },
});
