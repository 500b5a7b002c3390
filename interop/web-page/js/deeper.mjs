// What is less often done: media, saved and copied calls, files of traces, traces compared, data sets
// from traces, evaluations compared, A2A conversations.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';

import { expectRefusal, picture, run, until } from '../../prompts-page/js/harness.mjs';
import { agentUrl, call, demo, enter, runAction, tokenOf } from './tools.mjs';

const server = await demo();
const scratch = await mkdtemp(join(tmpdir(), 'oxikit-files-'));

/** A red square. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mO4YGCAFTEMLQkA2ntMAZZ5tYQAAAAASUVORK5CYII=';

/** Chooses an entry of the menu of a data set. */
async function press(page, name) {
  await page.getByRole('button', { name: /^More: traces/ }).click();
  await page.getByRole('menuitem', { name, exact: true }).click();
}

/** The text of the file that the browser saves when something is pressed. */
async function saved(page, press) {
  const [download] = await Promise.all([page.waitForEvent('download'), press()]);
  return readFile(await download.path(), 'utf8');
}

/** The row of the root span. */
const rootRow = (page) => page.locator('[role=row][aria-level="1"]').first();

/** The button below the input. */
const runButton = (page) => page.getByRole('region', { name: 'Input' }).getByRole('button', { name: /^Run/ });

await run({
  'actions: media of a file and of a URL are part of the request': async () => {
    const page = await enter(server, 'actions/model/offline/demo');
    await page.getByLabel('Text of message 1').fill('What is this?');
    await page.getByRole('button', { name: 'Add media' }).click();
    await page.getByLabel('From a file').setInputFiles({ name: 'red.png', mimeType: 'image/png', buffer: Buffer.from(PNG, 'base64') });
    await page.getByTitle(/^image\/png/).waitFor();
    await page.getByRole('button', { name: 'Add media' }).click();
    await page.getByLabel('URL of the media').fill('https://example.invalid/cat.png');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByTitle('https://example.invalid/cat.png').waitFor();
    await picture(page, 'media');
    await runButton(page).click();
    await page.getByText(/(ended|failed) after/).waitFor();
    const { traces } = await call(server, 'GET', '/api/v1/traces?name=offline/demo&limit=1');
    const { spans } = await call(server, 'GET', `/api/v1/traces/${traces[0].traceId}`);
    const input = JSON.parse(spans[0].span.attributes['genkit:input']);
    assert.deepEqual(input.messages[0].content.slice(1), [
      { media: { url: `data:image/png;base64,${PNG}`, contentType: 'image/png' } },
      { media: { url: 'https://example.invalid/cat.png' } },
    ]);
    // The trace shows the picture that it has, and only a link to the one of another server.
    await page.getByRole('link', { name: traces[0].traceId.slice(0, 8) }).first().click();
    await rootRow(page).click();
    await until('the picture', () => page.evaluate(() => [...document.images].some((image) => image.naturalWidth === 8)));
    assert.equal(await page.locator('img[src^=https]').count(), 0);
    await picture(page, 'media-trace');
    // Too large for a request: the page says so instead of freezing.
    await page.goBack();
    await page.getByRole('button', { name: 'Add media' }).click();
    await page.getByLabel('From a file').setInputFiles({ name: 'big.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(9_000_000) });
    await page.getByText(/At most 8 MB/).waitFor();
  },

  'actions: form and JSON keep what was typed, a call is saved, and the history brings inputs back': async () => {
    const page = await enter(server, 'actions/tool/weather');
    await page.getByText('only reads', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'city' }).fill('Oslo');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'JSON', exact: true }).first().click();
    await page.getByLabel('Input of weather as JSON').getByText('"Oslo"').waitFor();
    await page.getByLabel('Input of weather as JSON').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('{ "city": "Rome", "unknown": 7 }');
    await page.getByRole('button', { name: 'Form', exact: true }).first().click();
    assert.equal(await page.getByRole('textbox', { name: 'city' }).inputValue(), 'Rome');
    await page.getByRole('button', { name: 'JSON', exact: true }).first().click();
    await page.getByLabel('Input of weather as JSON').getByText('"unknown"').waitFor();
    await page.getByRole('button', { name: 'Save call' }).click();
    await page.getByLabel('Name', { exact: true }).fill('in Rome');
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Form', exact: true }).first().click();
    await page.getByRole('textbox', { name: 'city' }).fill('Paris');
    await runButton(page).click();
    await page.getByText(/ended after/).waitFor();
    await page.getByRole('button', { name: 'History' }).click();
    await page.getByRole('button', { name: /^in Rome/ }).click();
    await until('the saved input', async () => (await page.getByRole('textbox', { name: 'city' }).inputValue()) === 'Rome');
  },

  'actions: labels of a call find its trace, and the call is copied for a shell, Rust and JavaScript': async () => {
    const page = await enter(server, 'actions/flow/hello');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('textbox', { name: 'Input' }).fill("Ada's tea");
    await page.getByRole('button', { name: /^Context, labels, timeout/ }).click();
    await page.getByRole('button', { name: 'Add label' }).click();
    await page.getByLabel('Name of the label').fill('customer');
    await page.getByLabel('Value of the label').fill('7');
    await runButton(page).click();
    await page.getByText(/ended after/).waitFor();
    const copied = {};
    for (const name of ['curl', 'Rust', 'JavaScript']) {
      await page.getByRole('button', { name: 'Copy as' }).click();
      await page.getByRole('button', { name, exact: true }).click();
      await until(`${name} in the clipboard`, async () => {
        copied[name] = await page.evaluate(() => navigator.clipboard.readText());
        return Object.values(copied).filter((text) => text === copied[name]).length === 1;
      });
      assert.match(copied[name], /\/flow\/hello|hello/, name);
    }
    assert.match(copied.curl, /^curl /);
    assert.ok(!Object.values(copied).join().includes(await tokenOf(server)), 'the token is never copied');
    await page.goto(`${server.url}/#/traces?q=${encodeURIComponent('attribute:customer=7')}`);
    await page.getByRole('option', { name: /hello/ }).first().waitFor();
    assert.equal(await page.getByRole('option').count(), 1);
  },

  'traces: a trace is shared as a file without secrets, and the file is opened without a server': async () => {
    await runAction(server, '/flow/hello', 'Ada with sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD');
    const { traces } = await call(server, 'GET', '/api/v1/traces?name=hello&limit=1');
    const page = await enter(server, `traces/${traces[0].traceId}`);
    await page.getByRole('treegrid').waitFor();
    const text = await saved(page, () => page.getByRole('button', { name: 'Share file' }).click());
    assert.ok(!text.includes('abcdefghijklmnopqrstuvwxyz0123456789'), 'a secret is in the file');
    const file = join(scratch, 'trace.json');
    await writeFile(file, text);
    await page.goto(`${server.url}/#/traces/file`);
    await page.getByRole('heading', { name: 'Open a trace file' }).waitFor();
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByLabel('Choose file').setInputFiles(file);
    await page.getByText('File trace.json').waitFor();
    await page.getByRole('treegrid').getByRole('row', { name: /hello/ }).first().click();
    await page.getByText(/Ada with/).first().waitFor();
    await picture(page, 'trace-file');
    assert.deepEqual(asked.filter((url) => url.includes('/traces')), []);
    await page.getByRole('button', { name: 'Close the file' }).click();
    // A file may have a trace twice.
    await page.goto(`${server.url}/#/traces/file`);
    await writeFile(file, JSON.stringify({ traces: [JSON.parse(text), JSON.parse(text)] }));
    await page.getByLabel('Choose file').setInputFiles(file);
    await until('both rows', async () => (await page.getByRole('option').count()) === 2);
    await page.getByRole('button', { name: 'Close the file' }).click();
    await page.goto(`${server.url}/#/traces/file`);
    await writeFile(file, '{"not":"a trace"');
    await page.getByLabel('Choose file').setInputFiles(file);
    await page.getByText('The file is not valid JSON.', { exact: false }).waitFor();
  },

  'traces: two traces are marked with M and compared, and the query line filters by keys': async () => {
    await runAction(server, '/flow/umbrella', 'Oslo');
    await runAction(server, '/flow/umbrella', 'Rome');
    const page = await enter(server, 'traces');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('kind:flow name:umb');
    await page.keyboard.press('Tab');
    await until('the completed filter', () => decodeURIComponent(page.url()).includes('kind:flow+name:umbrella'));
    await until('two rows', async () => (await page.getByRole('option').count()) === 2);
    await page.getByText(/2 of \d+/).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('option').first().click();
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('m');
    await page.getByRole('option').nth(1).click();
    await until('the other trace', async () => (await page.getByRole('option', { selected: true }).count()) === 1);
    await page.getByRole('button', { name: /Compare with umbrella/ }).waitFor();
    await page.keyboard.press('m');
    await until('the comparison', () => page.url().includes('/vs/'));
    await page.getByText(/spans? differs?|spans differ/).first().waitFor();
    await picture(page, 'traces-marked');
    await page.goBack();
    await page.getByRole('treegrid').waitFor();
  },

  'traces: a filter by runtime finds its traces, and the number of all traces is shown': async () => {
    await runAction(server, '/flow/hello', 'Bo');
    const { runtimes } = await call(server, 'GET', '/api/v1/runtimes');
    const { total } = await call(server, 'GET', '/api/v1/traces?limit=1');
    const page = await enter(server, `traces?q=${encodeURIComponent(`runtime:${runtimes[0].id}`)}`);
    await page.getByRole('option', { name: /hello/ }).first().waitFor();
    await page.getByText(new RegExp(`of ${total}$`)).waitFor();
    await page.goto(`${server.url}/#/traces?q=runtime%3Anowhere`);
    await page.getByText('No trace matches').waitFor();
  },

  'traces: a model span opens in the playground with the same input': async () => {
    await runAction(server, '/flow/hello', 'Cleo');
    const { traces } = await call(server, 'GET', '/api/v1/traces?name=hello&limit=1');
    const page = await enter(server, `traces/${traces[0].traceId}`);
    await page.getByRole('row', { name: /offline\/demo/ }).first().click();
    await page.getByRole('button', { name: 'Open in playground' }).or(page.getByRole('link', { name: 'Open in playground' })).click();
    await until('the playground', () => page.url().includes('actions/model/offline/demo'));
    assert.match(await page.getByLabel(/^Text of message/).last().inputValue(), /Cleo/);
  },

  'data sets: cases come from traces, and are exported and imported': async () => {
    await runAction(server, '/flow/hello', 'from a trace');
    const page = await enter(server, 'datasets');
    await page.getByRole('button', { name: 'New', exact: true }).click();
    const dialog = page.getByRole('dialog');
    expectRefusal();
    await dialog.getByLabel('Name').fill('x');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Name').fill('from-traces');
    await dialog.getByLabel('Action').selectOption('/flow/hello');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await until('the place of the data set', () => page.url().endsWith('#/datasets/from-traces'));
    await page.getByRole('button', { name: 'From traces' }).first().click();
    await dialog.getByText('from a trace').first().waitFor();
    await dialog.getByRole('button', { name: /^Add \d+ case/ }).click();
    const size = async () => (await call(server, 'GET', '/api/v1/datasets/from-traces')).dataset.size;
    await until('the cases', async () => (await size()) > 0);
    await picture(page, 'dataset-from-traces');
    const before = await size();
    const file = join(scratch, 'cases.json');
    await writeFile(file, await saved(page, () => press(page, 'Export')));
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), press(page, 'Import')]);
    await chooser.setFiles(file);
    await until('the imported cases', async () => (await size()) >= before);
    await page.getByText(/cases? (was|were) imported/).first().waitFor();
  },

  'evaluations: two evaluations are compared case by case, and the trend over time is shown': async () => {
    await call(server, 'POST', '/api/v1/datasets', { datasetId: 'names-of-people', data: [{ input: 'Ada' }, { input: 'Bo' }], targetAction: '/flow/hello', datasetType: 'FLOW' });
    for (let at = 0; at < 2; at += 1) {
      await call(server, 'POST', '/api/v1/evaluations', { dataSource: { datasetId: 'names-of-people' }, actionRef: '/flow/hello' });
    }
    const { evaluations } = await call(server, 'GET', '/api/v1/evaluations');
    const page = await enter(server, `evals/${evaluations[0].evalRunId}/vs/${evaluations[1].evalRunId}`);
    for (const text of ['Ada', 'Bo']) await page.getByRole('option', { name: new RegExp(text) }).waitFor();
    await picture(page, 'evaluations-cases');
    // The trend is a chart with a table for screen readers.
    await page.goto(`${server.url}/#/evals/${evaluations[0].evalRunId}`);
    await page.getByRole('region', { name: 'Trend' }).waitFor();
    await picture(page, 'evaluation-trend');
  },

  'a2a: a message to an agent shows its task, its states and the raw exchange': async () => {
    const page = await enter(server, 'a2a');
    await page.getByRole('textbox').first().fill(await agentUrl(server));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /teashop/ }).first().waitFor();
    await page.getByLabel('Message', { exact: true }).fill('please order "mint tea"');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/mint tea/).last().waitFor();
    await page.getByText(/completed/i).first().waitFor();
    await picture(page, 'a2a-talk');
  },
});
