import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin, type ResolvedConfig } from 'vite';

/** The crate that embeds the page. Its folder `page/dist` is not committed. */
const OUT = join(import.meta.dirname, '../crates/oxikit-web/page/dist');
/** Smaller files are not worth a second copy. */
const MIN_COMPRESSED = 1024;
/** The licences of everything that the page contains. */
const LICENCES = 'licences.md';

/** Adds the licence of the font, which is a file and not a module, to those of the modules. */
function fontLicence(): Plugin {
  let out = OUT;
  return {
    name: 'oxikit-font-licence',
    apply: 'build',
    configResolved(config: ResolvedConfig) {
      out = config.build.outDir;
    },
    writeBundle() {
      const font = join(import.meta.dirname, 'node_modules/@fontsource-variable/inter');
      const { name, version, license } = JSON.parse(readFileSync(join(font, 'package.json'), 'utf8')) as Record<string, string>;
      const text = readFileSync(join(font, 'LICENSE'), 'utf8');
      appendFileSync(join(out, LICENCES), `\n## ${name} - ${version} (${license})\n\n${text}`);
    },
  };
}

/** Writes `x.js.gz` beside `x.js`: the server sends it as it is. */
function compressed(): Plugin {
  let out = OUT;
  return {
    name: 'oxikit-compressed',
    apply: 'build',
    configResolved(config: ResolvedConfig) {
      out = config.build.outDir;
    },
    writeBundle() {
      for (const entry of readdirSync(out, { recursive: true, encoding: 'utf8' })) {
        const file = join(out, entry);
        if (!/\.(?:js|css|html|svg)$/.test(file) || statSync(file).size < MIN_COMPRESSED) continue;
        writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  // A proxy may serve the page below any path.
  base: './',
  plugins: [svelte(), fontLicence(), compressed()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: ['chrome123', 'firefox120', 'safari17.5'],
    // A file as a data URL would need a weaker policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: LICENCES },
  },
  server: {
    proxy: { '/api': { target: process.env['OXIKIT_URL'] ?? 'http://127.0.0.1:8081', ws: true } },
  },
});
