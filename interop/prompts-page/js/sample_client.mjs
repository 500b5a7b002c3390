// The sample client of the protocol document, unchanged, in a page that has what it needs: an
// editor, toasts, and an element for the preview.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';

import { expectLostConnections, freePort, PATIENCE, person, prompts, run, until } from './harness.mjs';

const sample = await readFile(new URL('sample_client.js', import.meta.url), 'utf8');
const port = await freePort(8081);
const hosted = sample.replace('localhost:8081', `localhost:${port}`);

/** The surroundings of the sample. `reconnect` reloads the page, which runs the sample again. */
const SURROUNDINGS = `
  const promptId = new URLSearchParams(location.search).get('id');
  const seen = { toasts: [], fallbacks: 0, closed: [] };
  const editor = { value: null, setValue(value) { this.value = value; } };
  const previewElement = document.getElementById('preview');
  function showToast(text) { seen.toasts.push(text); }
  function fallbackToRestApi() { seen.fallbacks += 1; }
  function reconnect() { location.reload(); }
`;

const HTML = `<!doctype html><title>Sample</title><div id="preview"></div>
  <script src="surroundings.js"></script><script src="sample_client.js"></script>`;

const site = createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const [type, text] = {
    '/': ['text/html', HTML],
    '/surroundings.js': ['text/javascript', SURROUNDINGS],
    '/sample_client.js': ['text/javascript', hosted],
  }[pathname] ?? ['text/plain', ''];
  response.writeHead(200, { 'content-type': type }).end(text);
});
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
const origin = `http://localhost:${site.address().port}`;

const FILES = {
  'joke.md': 'Tell a joke about tea.\n\nKeep it short.\n',
  'shop.md': '---\ndescription: The shop\n---\nYou sell tea. [[tone]]\n',
  'fragments/tone.md': 'Be kind.',
};
const server = await prompts(FILES, { port, args: ['--allow-origin', origin] });

/** A page with the sample, connected to a document. */
async function connect(id, context) {
  const page = await (context ?? (await person('sample'))).newPage();
  page.setDefaultTimeout(PATIENCE);
  page.lines = [];
  page.on('console', (message) => page.lines.push(message.text()));
  await page.goto(`${origin}/?id=${id}`);
  return page;
}

const value = (page) => page.evaluate(() => editor.value);
const toasts = (page) => page.evaluate(() => seen.toasts);
const update = (page, content) => page.evaluate((text) => sendUpdate(text), content);
const file = (name) => readFile(join(server.root, 'prompts', name), 'utf8');

await run({
  'sample: it connects and shows the content': async () => {
    const page = await connect('joke');
    await until('the content', async () => (await value(page)) === FILES['joke.md']);
    assert.deepEqual(page.lines, ['Connected to WebSocket']);
  },

  'sample: an update is saved, and the front matter stays': async () => {
    const page = await connect('shop');
    await until('the content', async () => (await value(page)) === 'You sell tea. [[tone]]\n');
    await update(page, 'You sell green tea. [[tone]]\n');
    await until('the toast', async () => (await toasts(page)).length > 0);
    assert.deepEqual(await toasts(page), ['Saved!']);
    // The edit is acknowledged when it is in the history; the file follows.
    const expected = '---\ndescription: The shop\n---\nYou sell green tea. [[tone]]\n';
    await until('the file', async () => (await file('shop.md')) === expected);
  },

  'sample: an update reaches the other clients, and not its sender': async () => {
    const [sender, other] = [await connect('joke'), await connect('joke')];
    for (const page of [sender, other]) await until('the content', async () => (await value(page)) !== null);
    await sender.evaluate(() => editor.setValue('untouched'));
    await update(sender, 'Tell a joke about coffee.\n\nKeep it short.\n');
    await until('the update', async () => (await value(other)).includes('coffee'));
    assert.deepEqual(await toasts(sender), ['Saved!']);
    assert.equal(await value(sender), 'untouched');
    assert.deepEqual(await toasts(other), []);
  },

  'sample: an expansion is shown': async () => {
    const page = await connect('shop');
    await until('the content', async () => (await value(page)) !== null);
    await page.evaluate(() => ws.send(JSON.stringify({ action: 'expand', content: 'Draft. [[tone]] [[none]]' })));
    await until('the expansion', async () => (await page.textContent('#preview')) !== '');
    assert.equal(await page.textContent('#preview'), 'Draft. Be kind. [[PROMPT NOT FOUND: none]]');
    assert.ok((await file('shop.md')).includes('green tea'), 'nothing is saved');
  },

  'sample: two clients that edit different paragraphs at the same moment lose nothing': async () => {
    const pages = [await connect('joke'), await connect('joke')];
    for (const page of pages) await until('the content', async () => (await value(page)) !== null);
    const before = await value(pages[0]);
    const texts = [before.replace('coffee', 'black coffee'), before.replace('short', 'very short')];
    await Promise.all(pages.map((page, at) => update(page, texts[at])));
    const merged = 'Tell a joke about black coffee.\n\nKeep it very short.\n';
    await until('the file', async () => (await file('joke.md')) === merged);
    // A client that was first and has the other's edit got an update with both.
    const shown = async (page) => (await value(page)) === merged || (await toasts(page)).length > 0;
    for (const page of pages) await until('the merge', () => shown(page));
  },

  'sample: an unknown document is closed with 4004, which the client sees': async () => {
    const page = await connect('nothing');
    await until('the close', async () => page.lines.some((line) => line.includes('Closed')));
    assert.ok(page.lines.includes("WebSocket Closed: 4004 Prompt 'nothing' not found"), page.lines.join());
  },

  'sample: after a restart of the server it connects again': async () => {
    expectLostConnections();
    const page = await connect('joke');
    await until('the content', async () => (await value(page)) !== null);
    await server.kill();
    await until('the close', async () => page.lines.some((line) => line.startsWith('WebSocket Closed: 1006')));
    await server.start();
    await until('the content', async () => (await value(page))?.includes('black coffee'));
  },

  'sample: a page of an origin that is not allowed gets nothing': async () => {
    expectLostConnections();
    const page = await (await person('other')).newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`http://127.0.0.1:${site.address().port}/?id=joke`);
    await until('the refusal', async () => (await page.evaluate(() => seen.fallbacks)) > 0);
    assert.equal(await value(page), null);
  },
});
site.close();
