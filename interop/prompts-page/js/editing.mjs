// Live editing in the page: several people, files and plain clients change one text.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import WebSocket from 'ws';

import { editorOf, expectDeletion, expectLostConnections, openDocument, person, picture, prompts, run, saved, textOf, until } from './harness.mjs';

const PARAGRAPH = 'The tea shop opens at nine. Please order green tea, or a cake. Thank you for your visit.';

const server = await prompts({
  'teashop.prompt': `---
model: offline/demo
config:
  temperature: 0.4
input:
  schema:
    name: string
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
  'shared.md': `${PARAGRAPH}\n`,
  'letter.md': '---\n# A comment that stays.\ndescription: A letter\ncolour: green\n---\nDear {{name}},\r\n\r\nsee you soon.\r\n',
  'jokes/dad.md': 'Tell a dad joke. [[tone]]\n',
  'draft.md': 'First line.\n\nLast line.\n',
  'fragments/tone.md': '---\ndescription: How we talk\n---\nBe warm, brief and honest.',
  'fragments/prices.md': 'Green tea 3, oolong 4. [[currency]]',
  'fragments/currency.md': 'One euro is 100 cents.',
});

const file = (name) => readFile(join(server.root, 'prompts', name), 'utf8');

/** Waits for the text of a file: an edit is acknowledged when it is in the history, the file follows. */
async function written(name, isWritten) {
  let text = '';
  const check = async () => isWritten((text = await file(name)));
  await until('the file', check).catch((error) => assert.fail(`${error.message}: ${JSON.stringify(text)}`));
}

/** Puts the cursor behind a text of the document. */
async function cursorBehind(page, id, text) {
  await editorOf(page, id).click();
  await page.keyboard.press('Control+Home');
  const content = await textOf(page, id);
  const at = content.indexOf(text);
  assert.ok(at >= 0, `${text} in ${content}`);
  // Moving by single keys works in every layout of lines.
  for (let step = 0; step < at + text.length; step += 1) await page.keyboard.press('ArrowRight');
}

await run({
  'editing: two people type in the same paragraph at the same time and both texts survive': async () => {
    const [ada, bo] = [await person('Ada'), await person('Bo', { dark: true })];
    const pages = [await openDocument(ada, server, 'shared'), await openDocument(bo, server, 'shared')];
    await cursorBehind(pages[0], 'shared', 'at nine');
    await cursorBehind(pages[1], 'shared', 'or a cake');
    const texts = [' in the morning, every day but Sunday', ' with berries and a little cream'];
    await Promise.all(pages.map((page, at) => page.keyboard.type(texts[at], { delay: 25 })));
    await picture(pages[0], 'two-people-light');
    await picture(pages[1], 'two-people-dark');
    const both = PARAGRAPH.replace('nine', `nine${texts[0]}`).replace('cake', `cake${texts[1]}`);
    for (const page of pages) {
      await until('both texts', async () => (await textOf(page, 'shared')).trimEnd() === both);
      await saved(page);
    }
    await written('shared.md', (text) => text === `${both}\n`);
    // The other person is shown by name.
    await pages[0].getByRole('list', { name: 'Also here: Bo' }).waitFor();
    await pages[1].getByRole('list', { name: 'Also here: Ada' }).waitFor();
  },

  'editing: two people type at the same point and no word is lost': async () => {
    const contexts = [await person('Ada'), await person('Bo')];
    const pages = [];
    for (const context of contexts) pages.push(await openDocument(context, server, 'draft'));
    for (const page of pages) await cursorBehind(page, 'draft', 'First line.');
    const words = [['alpha', 'beta', 'gamma', 'delta'], ['one', 'two', 'three', 'four']];
    await Promise.all(
      pages.map(async (page, at) => {
        for (const word of words[at]) await page.keyboard.type(` ${word}`, { delay: 40 });
      }),
    );
    for (const page of pages) await saved(page);
    await until('equal texts', async () => (await textOf(pages[0], 'draft')) === (await textOf(pages[1], 'draft')));
    const text = await textOf(pages[0], 'draft');
    const missing = words.flat().filter((word) => !text.includes(word));
    assert.deepEqual(missing, [], text);
    await written('draft.md', (found) => found === text);
  },

  'editing: a file that changes on disk and a person who types lose nothing': async () => {
    const page = await openDocument(await person('Ada'), server, 'draft');
    await cursorBehind(page, 'draft', 'Last line.');
    const typing = page.keyboard.type(' Typed in the page.', { delay: 30 });
    await writeFile(join(server.root, 'prompts', 'draft.md'), `Written by a program.\n${await file('draft.md')}`);
    await typing;
    await until('the line of the file', async () => (await textOf(page, 'draft')).startsWith('Written by a program.'));
    await saved(page);
    const text = await textOf(page, 'draft');
    assert.ok(text.includes('Last line. Typed in the page.'), text);
    await until('the file', async () => (await file('draft.md')) === text);
  },

  'editing: a plain client and a page share a document': async () => {
    const page = await openDocument(await person('Ada'), server, 'jokes/dad', 'dad');
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/api/prompts/ws/${encodeURIComponent('jokes/dad')}`);
    const messages = [];
    socket.on('message', (data) => messages.push(JSON.parse(data)));
    const last = (action) => messages.findLast((message) => message.action === action);
    await until('initial', () => last('initial'));
    await cursorBehind(page, 'dad', 'dad joke');
    await page.keyboard.type(' about tea');
    await until('update', () => last('update')?.content === 'Tell a dad joke about tea. [[tone]]\n');
    socket.send(JSON.stringify({ action: 'update', content: 'Tell a short dad joke about tea. [[tone]]\n' }));
    await until('the text', async () => (await textOf(page, 'dad')).startsWith('Tell a short dad joke about tea'));
    socket.close();
  },

  'editing: what is typed while the server is away is kept and sent': async () => {
    expectLostConnections();
    const ada = await person('Ada');
    const page = await openDocument(ada, server, 'shared');
    await server.kill();
    await page.getByText('Waiting for the server').waitFor();
    await cursorBehind(page, 'shared', 'visit.');
    await page.keyboard.type(' Written without a server.');
    await page.locator('.status', { hasText: 'Kept in this browser' }).waitFor();
    await picture(page, 'no-server');
    await server.start();
    await page.getByRole('button', { name: 'Try now' }).click().catch(() => {});
    await saved(page);
    await written('shared.md', (text) => text.includes('visit. Written without a server.'));
  },

  'editing: the text of a tab that was closed too early is sent by the next one': async () => {
    expectLostConnections();
    const ada = await person('Ada');
    const page = await openDocument(ada, server, 'shared');
    await server.kill();
    await page.getByText('Waiting for the server').waitFor();
    await cursorBehind(page, 'shared', 'visit.');
    await page.keyboard.type(' From a closed tab.');
    await page.locator('.status', { hasText: 'Kept in this browser' }).waitFor();
    await page.close({ runBeforeUnload: true });
    await server.start();
    const next = await openDocument(ada, server, 'shared');
    await until('the draft', async () => (await textOf(next, 'shared')).includes('visit. From a closed tab.'));
    await saved(next);
    await written('shared.md', (text) => text.includes('From a closed tab.'));
  },

  'editing: an edit keeps front matter, comments and line ends': async () => {
    const before = await file('letter.md');
    const page = await openDocument(await person('Ada'), server, 'letter');
    await cursorBehind(page, 'letter', 'see you');
    await page.keyboard.type(' very');
    await saved(page);
    await written('letter.md', (text) => text === before.replace('see you', 'see you very'));
    await page.getByRole('tab', { name: 'Details' }).click();
    await page.getByRole('textbox', { name: 'Tags' }).fill('mail, friends');
    await page.getByRole('textbox', { name: 'Tags' }).press('Tab');
    await until('the tags', async () => (await file('letter.md')).includes('friends'));
    const text = await file('letter.md');
    assert.ok(text.includes('# A comment that stays.') && text.includes('colour: green'), text);
    assert.ok(text.endsWith('Dear {{name}},\r\n\r\nsee you very soon.\r\n'), JSON.stringify(text));
  },

  'editing: names are completed after two brackets, and the preview follows': async () => {
    const page = await openDocument(await person('Ada'), server, 'teashop');
    await cursorBehind(page, 'teashop', 'delivery time.');
    await page.keyboard.type(' [[', { delay: 40 });
    const completions = page.locator('.cm-tooltip-autocomplete').getByRole('option');
    await completions.filter({ hasText: 'currency' }).waitFor();
    await page.keyboard.type('curr', { delay: 40 });
    await completions.filter({ hasText: 'tone' }).waitFor({ state: 'detached' });
    await completions.and(page.locator('[aria-selected=true]')).filter({ hasText: 'currency' }).waitFor();
    await picture(page, 'completion');
    await page.keyboard.press('Enter');
    await until('the inclusion', async () => (await textOf(page, 'teashop')).includes('time. [[currency]]'));
    const messages = page.locator('.messages li');
    await until('the preview', async () => (await messages.first().textContent()).includes('time. One euro is 100 cents.'));
    await page.getByLabel('name', { exact: true }).fill('Ada Lovelace');
    await until('the value', async () => (await messages.nth(1).textContent()).includes('My name is Ada Lovelace.'));
    await page.getByRole('button', { name: 'Expanded text' }).click();
    await page.locator('.part', { hasText: 'Be warm, brief and honest.' }).waitFor();
    await picture(page, 'expanded');
    // A change of an included text reaches the open preview.
    await writeFile(join(server.root, 'prompts', 'fragments', 'prices.md'), 'White tea 5. [[currency]]');
    await page.locator('.part', { hasText: 'White tea 5.' }).waitFor();
  },

  'editing: an old revision is compared, labelled and restored': async () => {
    const page = await openDocument(await person('Ada'), server, 'shared');
    const text = await textOf(page, 'shared');
    await editorOf(page, 'shared').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('All is gone.');
    await saved(page);
    await page.getByRole('tab', { name: 'History' }).click();
    const rows = page.locator('ol[aria-label^="Revisions"] > li > .revision');
    await until('the history', async () => (await rows.count()) > 2);
    await rows.last().click();
    await page.getByRole('heading', { name: /^Revision 1$/ }).waitFor();
    await page.getByRole('region', { name: 'Differences' }).getByText('All is gone.').waitFor();
    await page.getByRole('button', { name: 'Label', exact: true }).click();
    await page.getByLabel('Name of the label').fill('production');
    await page.getByRole('button', { name: 'Set label' }).click();
    await page.locator('li .pill', { hasText: 'production' }).waitFor();
    await picture(page, 'revision');
    await page.getByRole('button', { name: 'Restore' }).click();
    await until('the old text', async () => (await textOf(page, 'shared')).startsWith(PARAGRAPH));
    await until('the file', async () => (await file('shared.md')) === `${PARAGRAPH}\n`);
    assert.notEqual(text, PARAGRAPH);
  },

  'editing: a rename changes the texts that include it, and open pages follow': async () => {
    const [ada, bo] = [await person('Ada'), await person('Bo')];
    const page = await openDocument(ada, server, 'tone');
    const other = await openDocument(bo, server, 'tone');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('New name').fill('voice');
    await page.getByLabel(/Also change 2 texts/).waitFor();
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    for (const each of [page, other]) {
      await each.getByRole('heading', { level: 1, name: 'voice' }).waitFor();
      await until('the address', async () => each.url().endsWith('/#/prompts/voice'));
    }
    await editorOf(other, 'tone').click();
    await other.keyboard.press('Control+End');
    await other.keyboard.type(' Smile.');
    await saved(other);
    await written('fragments/voice.md', (text) => text.endsWith('honest. Smile.'));
    await written('teashop.prompt', (text) => text.includes('[[voice]]'));
    await written('jokes/dad.md', (text) => text.includes('[[voice]]'));
  },

  'editing: a deleted document is brought back with its history': async () => {
    expectDeletion();
    const page = await openDocument(await person('Ada'), server, 'draft');
    const other = await openDocument(await person('Bo'), server, 'draft');
    const before = await file('draft.md');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await other.getByRole('heading', { level: 1, name: 'There is no “draft”' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await editorOf(page, 'draft').waitFor();
    await written('draft.md', (text) => text === before);
    await other.getByRole('button', { name: 'Bring it back' }).waitFor();
  },

  'editing: a new prompt is made, and its name is made fit for a file': async () => {
    const page = await openDocument(await person('Ada'), server, 'shared');
    await page.getByRole('button', { name: 'New prompt or fragment' }).click();
    await page.getByLabel('Name', { exact: true }).fill('thank you note');
    await page.getByRole('textbox', { name: 'Description' }).fill('For guests');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await editorOf(page, 'thank_you_note').waitFor();
    await page.keyboard.type('Thank you.');
    await saved(page);
    await until('the file', async () => (await file('thank_you_note.md')).endsWith('Thank you.'));
  },
});
