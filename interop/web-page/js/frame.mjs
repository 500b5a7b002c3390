// The frame: signing in, keys, the palette, deep links, lost tools, two tabs, narrow screens.

import assert from 'node:assert/strict';

import { expectLostConnections, open, person, picture, run, until } from '../../prompts-page/js/harness.mjs';
import { address, call, demo, enter, go, runAction, turn } from './tools.mjs';

const server = await demo();
await runAction(server, '/flow/hello', 'Ada');
await runAction(server, '/flow/broken', 'x');
await turn(server, 'teashop', 'please pay 12');

const AREAS = [['o', 'Overview'], ['a', 'Actions'], ['s', 'Sessions'], ['t', 'Traces'], ['d', 'Data sets'], ['e', 'Evaluations'], ['p', 'Prompts'], ['2', 'A2A']];
const current = (page) => page.locator('nav.rail [aria-current=page]').textContent();

await run({
  'frame: the code signs in once, and leaves the address bar and the history': async () => {
    const url = await address(server);
    const code = url.split('code=')[1];
    const page = await open(await person('Ada'), url);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    assert.equal(page.url(), `${server.url}/#/`);
    const cookies = await page.context().cookies();
    assert.deepEqual(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite]), [[true, 'Strict']]);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.ok(!kept.includes(code), kept);
    const stranger = await (await person('Bo')).newPage();
    await stranger.goto(url);
    await stranger.getByRole('heading', { name: 'Sign in' }).waitFor();
    await picture(stranger, 'sign-in');
    await stranger.getByLabel('Address or code').fill(url);
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.getByRole('alert').waitFor();
    await stranger.getByLabel('Address or code').fill(await address(server));
    await stranger.getByRole('button', { name: 'Sign in' }).click();
    await stranger.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  },

  'frame: a browser whose cookie has expired is asked to sign in, and comes back when another tab does': async () => {
    const context = await person('Ada');
    const page = await context.newPage();
    await page.goto(await address(server));
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await context.clearCookies();
    await page.evaluate(() => (location.hash = '#/prompts'));
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const other = await context.newPage();
    await other.goto(await address(server));
    await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('navigation', { name: 'Main' }).first().waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Sign in' }).count(), 0);
  },

  'frame: G and a letter opens every area with its sheet of keys, and Back returns': async () => {
    const page = await enter(server);
    for (const [key, name] of AREAS) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await until(`the area ${name}`, async () => (await current(page)).includes(name));
      await page.locator('main h1').first().waitFor();
      assert.equal(await page.locator('h1').count(), 1, name);
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).getByText('Everywhere').waitFor();
      await page.keyboard.press('Escape');
    }
    await page.goBack();
    await until('the area before', async () => (await current(page)).includes('Prompts'));
    await page.goForward();
    await until('the area after', async () => (await current(page)).includes('A2A'));
  },

  'frame: the palette finds areas, actions, sessions and traces by typing': async () => {
    const page = await enter(server);
    const { traces } = await call(server, 'GET', '/api/v1/traces?name=hello');
    for (const [text, name, place] of [
      ['data', /Data sets/, '#/datasets'],
      ['umbrella', /umbrella/, '/actions/'],
      [traces[0].traceId, /hello/, `#/traces/${traces[0].traceId}`],
    ]) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill(text);
      await page.getByRole('option', { name }).first().waitFor();
      await picture(page, `palette-${text.slice(0, 8)}`);
      await page.keyboard.press('Enter');
      await until(`the place of ${text}`, () => page.url().includes(place));
    }
  },

  'frame: the sheet shows the keys of what is on screen, and single letters can be turned off': async () => {
    const page = await enter(server, 'traces');
    await page.locator('main h1').waitFor();
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keys' });
    await sheet.getByText('Everywhere').waitFor();
    await sheet.getByText('Filter the traces').waitFor();
    await picture(page, 'keys');
    await sheet.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    assert.ok(page.url().includes('#/traces'), page.url());
  },

  'frame: killed tools are waited for, and the page goes on when they are back': async () => {
    expectLostConnections();
    const page = await enter(server);
    await page.getByText('1 waits').waitFor();
    await server.kill();
    const bar = page.getByRole('status').filter({ hasText: 'Waiting for the tools' });
    await bar.waitFor();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await picture(page, 'tools-lost');
    await server.start();
    await bar.waitFor({ state: 'detached' });
    await runAction(server, '/flow/hello', 'again').catch(() => undefined);
    await until('the runtime', async () => (await page.getByRole('button', { name: /^Runtime:/ }).count()) === 1);
  },

  'frame: two tabs show the same changes as they happen': async () => {
    const first = await enter(server, 'traces');
    const second = await open(first.context(), `${server.url}/#/traces`);
    await runAction(server, '/flow/umbrella', 'Oslo');
    for (const page of [first, second]) await page.getByRole('option', { name: /umbrella/ }).first().waitFor();
  },

  'frame: the theme of one tab reaches the other': async () => {
    const first = await enter(server);
    const second = await open(first.context(), server.url);
    await first.getByRole('button', { name: 'Dark', exact: true }).click();
    const background = () => second.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await until('the dark theme', async () => (await background()) === 'rgb(16, 19, 17)');
  },

  'frame: at 360 px everything is in reach and nothing scrolls sideways': async () => {
    const page = await enter(server, '', { width: 360, height: 740, hasTouch: true });
    for (const name of ['Actions', 'Sessions', 'Traces', 'Overview']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.locator('main h1').first().waitFor();
      await narrow(page, name);
    }
    for (const name of ['Data sets', 'Evaluations', 'Prompts', 'A2A']) {
      await page.getByRole('button', { name: 'More', exact: true }).last().click();
      await page.getByRole('dialog').getByRole('button', { name, exact: true }).click();
      await page.locator('main h1').first().waitFor();
      await narrow(page, name);
    }
  },

  'frame: the skip link leads to the content, and the bar copies the command': async () => {
    const page = await enter(server);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await until('focus in the content', () => page.evaluate(() => document.activeElement?.id === 'main'));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.keyboard.press('c');
    await until('the command', async () => (await page.evaluate(() => navigator.clipboard.readText())).startsWith('oxikit '));
  },
});

/** Fits, and has a row or says what to do. */
async function narrow(page, name) {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(excess <= 0, `${name}: ${excess} px too wide`);
  const content = page.locator('[role=option], .empty, section').filter({ visible: true });
  await until(`the content of ${name}`, async () => (await content.count()) > 0);
  await picture(page, `narrow-${name.replace(' ', '-').toLowerCase()}`);
}
