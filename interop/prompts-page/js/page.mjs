// The page itself: hostile names and texts, keys, themes, narrow screens, tokens, accessibility.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { accessible, editorOf, freePort, open, openDocument, person, picture, project, prompts, run, saved, Server, textOf, until } from './harness.mjs';

/** Texts that run a script if they are inserted as markup. */
const PAYLOAD = '<img src=x onerror=window.executed=1><script>window.executed=1</script>{{name}}';
const NAME = '<img src=x onerror=window.executed=1>';

const server = await prompts({
  'teashop.prompt': `---
model: offline/demo
config:
  temperature: 0.4
---
{{role "system"}}
You take orders in a small tea shop.
[[tone]]

# Rules
- Never promise a delivery time.
- Prices are in euros. [[prices]]

{{role "user"}}
My name is {{name}}. Which teas do you have?
`,
  'jokes/dad.md': 'Tell a dad joke about {{topic}}. [[tone]]\n',
  'summary.md': '---\ndescription: A text in a few sentences\ntags: [short]\n---\nSummarise in {{sentences}} sentences. [[missing]]\n',
  'fragments/tone.md': '---\ndescription: How we talk\n---\nBe warm, brief and honest.',
  'fragments/prices.md': 'Green tea 3, oolong 4, earl grey 3.',
  [`${NAME}.md`]: `---\ndescription: "${PAYLOAD.replaceAll('"', '')}"\ntags: ["${NAME}"]\n---\n${PAYLOAD} [[${NAME}]]`,
});

/** The views beside the text, and what each of them shows when it has its data. */
const CONTENTS = { Preview: '.messages', Details: '#tags', History: '.revision', Uses: 'section' };
const VIEWS = Object.keys(CONTENTS);

/** Waits for the data of a view. */
async function filled(page, view) {
  await page.getByRole('tabpanel').locator(CONTENTS[view]).first().waitFor();
}

await run({
  'page: every view is accessible, light and dark': async () => {
    for (const dark of [false, true]) {
      const context = await person('Ada', { dark });
      const theme = dark ? 'dark' : 'light';
      const list = await open(context, server.url);
      await list.getByRole('option', { name: /teashop/ }).waitFor();
      await accessible(list, `list, ${theme}`);
      const page = await openDocument(context, server, 'teashop');
      await page.locator('.messages').waitFor();
      await picture(page, `page-${theme}`);
      for (const view of VIEWS) {
        await page.getByRole('tab', { name: view }).click();
        await filled(page, view);
        await accessible(page, `${view}, ${theme}`);
        await picture(page, `${view.toLowerCase()}-${theme}`);
      }
      await page.getByRole('tab', { name: 'History' }).click();
      await page.locator('.revision').first().click();
      await page.getByRole('region', { name: 'Differences' }).waitFor();
      await accessible(page, `revision, ${theme}`);
      await page.keyboard.press('Escape');
      await page.keyboard.press('n');
      await page.getByRole('dialog').waitFor();
      await accessible(page, `dialog, ${theme}`);
      await picture(page, `dialog-${theme}`);
    }
  },

  'page: on a narrow screen everything is in reach and nothing scrolls sideways': async () => {
    for (const width of [390, 360]) {
      const context = await person('Ada', { width, height: 780, dark: width === 360, hasTouch: true });
      const page = await open(context, server.url);
      const row = page.getByRole('option', { name: /teashop/ });
      await row.waitFor();
      await picture(page, `narrow-${width}-list`);
      await row.click();
      await editorOf(page, 'teashop').waitFor();
      for (const view of ['Text', ...VIEWS]) {
        await page.getByRole('button', { name: view, exact: true }).click();
        if (view !== 'Text') await filled(page, view);
        const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(excess <= 0, `${view} at ${width}: ${excess} px too wide`);
        await accessible(page, `${view} at ${width}`);
        await picture(page, `narrow-${width}-${view.toLowerCase()}`);
      }
      await page.getByRole('button', { name: 'All prompts' }).click();
      await row.waitFor();
    }
  },

  'page: scripts in names, texts, tags, labels and authors are shown and not run': async () => {
    const context = await person(NAME);
    const page = await openDocument(context, server, NAME);
    assert.ok((await textOf(page, NAME)).startsWith(PAYLOAD));
    const other = await openDocument(await person(NAME), server, NAME);
    await editorOf(other, NAME).click();
    await other.keyboard.type(PAYLOAD);
    await saved(other);
    for (const view of VIEWS) {
      await page.getByRole('tab', { name: view }).click();
      await filled(page, view);
    }
    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.getByLabel('name', { exact: true }).fill(PAYLOAD);
    await until('the value', async () => (await page.locator('.messages').textContent()).split(PAYLOAD).length > 1);
    await page.getByRole('button', { name: 'Expanded text' }).click();
    await page.locator('.warnings').waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.locator('.revision').first().click();
    await page.getByRole('region', { name: 'Differences' }).waitFor();
    await page.getByRole('button', { name: 'Label', exact: true }).click();
    await page.getByLabel('Name of the label').fill('production');
    await page.getByRole('button', { name: 'Set label' }).click();
    await page.locator('li .pill').waitFor();
    await page.locator('#find').fill('onerror');
    await page.getByRole('option').first().waitFor();
    await picture(page, 'hostile');
    for (const each of [page, other]) {
      assert.equal(await each.evaluate(() => window.executed), undefined);
      // The editor itself puts empty images beside the cursors of others.
      const inserted = each.locator('img:not(.cm-widgetBuffer:not([src])), script:not([src])');
      assert.deepEqual(await inserted.evaluateAll((elements) => elements.map(({ outerHTML }) => outerHTML)), []);
    }
  },

  'page: it can be used by keys alone': async () => {
    const page = await open(await person('Ada'), server.url);
    await page.getByRole('option', { name: /teashop/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('tea');
    await page.keyboard.press('Enter');
    await editorOf(page, 'teashop').waitFor();
    await page.keyboard.press('Enter');
    await until('focus in the text', () => editorOf(page, 'teashop').evaluate((element) => element.matches(':focus')));
    await page.keyboard.press('Control+End');
    await page.keyboard.type('By keys.');
    await page.keyboard.press('Control+s');
    await until('the announcement', async () => /Saved, revision \d/.test(await page.getByRole('status').first().textContent()));
    await page.keyboard.press('Escape');
    for (const [key, heading] of [['2', 'Details'], ['3', 'History'], ['4', 'Uses'], ['1', 'Preview']]) {
      await page.keyboard.press(key);
      await page.getByRole('tab', { name: heading, selected: true }).waitFor();
    }
    await page.keyboard.press('/');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    const title = () => page.getByRole('heading', { level: 1 }).textContent();
    await page.keyboard.press('k');
    await until('the row above', async () => (await title()) === 'summary');
    await page.keyboard.press('j');
    await until('the row below', async () => (await title()) === 'teashop');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'New prompt or fragment' }).waitFor();
    await page.keyboard.type('by_keys');
    await page.keyboard.press('Enter');
    await editorOf(page, 'by_keys').waitFor();
    await page.goBack();
    await until('the document before', async () => (await title()) === 'teashop');
  },

  'page: the theme follows the system until one is chosen': async () => {
    const context = await person('Ada', { dark: true });
    const page = await open(context, server.url);
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await background(), 'rgb(16, 19, 17)');
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await background(), 'rgb(246, 247, 244)');
    await page.getByRole('button', { name: 'Dark', exact: true }).click();
    assert.equal(await background(), 'rgb(16, 19, 17)');
    await page.reload();
    assert.equal(await background(), 'rgb(16, 19, 17)');
  },

  'page: it has one heading of the first level, and landmarks': async () => {
    const page = await openDocument(await person('Ada'), server, 'teashop');
    assert.equal(await page.locator('h1').count(), 1);
    for (const role of ['navigation', 'main', 'complementary', 'contentinfo', 'search']) {
      assert.equal(await page.getByRole(role).count(), 1, role);
    }
    await page.goto(`${server.url}/`);
    await page.getByRole('option').first().waitFor();
    assert.equal(await page.locator('h1').count(), 1);
  },

  'page: its files are cached, compressed and guarded': async () => {
    const html = await fetch(`${server.url}/`);
    const policy = html.headers.get('content-security-policy');
    assert.ok(!policy.includes('unsafe') && policy.includes("require-trusted-types-for 'script'"), policy);
    const script = /assets\/[^"]+\.js/.exec(await html.text())[0];
    const answer = await fetch(`${server.url}/${script}`, { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(answer.headers.get('content-encoding'), 'gzip');
    assert.ok(answer.headers.get('cache-control').includes('immutable'));
    const headers = { 'if-none-match': answer.headers.get('etag') };
    assert.equal((await fetch(`${server.url}/${script}`, { headers })).status, 304);
    assert.equal((await fetch(`${server.url}/assets/none.js`)).status, 404);
  },

  'page: in the developer tools the old address leads to the area of prompts, which takes the token': async () => {
    const root = await project({ 'own.md': 'A prompt of the project.\n' });
    const tools = await new Server(root, ['start', '--demo', '--port', String(await freePort())]).start();
    const { token } = JSON.parse(await readFile(join(root, '.oxikit', 'manager.json'), 'utf8'));
    const page = await open(await person('Ada'), `${tools.url}/#token=${token}/prompts`);
    await page.getByRole('option', { name: /own/ }).click();
    await editorOf(page, 'own').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('Edited in the tools.');
    await saved(page);
    const file = () => readFile(join(root, 'prompts', 'own.md'), 'utf8');
    await until('the file', async () => (await file()) === 'A prompt of the project.\nEdited in the tools.');
    assert.ok(!page.url().includes(token), page.url());
    await page.goto(`${tools.url}/prompts/`);
    await until('the new address', () => page.url() === `${tools.url}/#/prompts`);
    await page.getByRole('option', { name: /own/ }).waitFor();
    await picture(page, 'tools');
    // Otherwise the page may report the connections that it loses.
    await page.context().close();
    await tools.kill();
  },
});
