// What nobody expects: unusual names and values, Back and Forward everywhere, links to nothing.

import assert from 'node:assert/strict';

import { expectLostConnections, open, person, picture, run, until } from '../../prompts-page/js/harness.mjs';
import { address, call, demo, enter, go, runAction, strange, tokenOf, turn } from './tools.mjs';

const server = await strange();
const shop = await demo();
const output = (page) => page.getByRole('region', { name: 'Output' });
const runButton = (page) => page.getByRole('region', { name: 'Input' }).getByRole('button', { name: /^Run/ });

/** The page answers to keys within a second. */
async function responsive(page, what) {
  const took = await page.evaluate(async () => {
    const began = performance.now();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    return performance.now() - began;
  });
  assert.ok(took < 1000, `${what}: a frame took ${took} ms`);
}

/** Nothing of the page is wider than the window. */
async function fits(page, what) {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(excess <= 0, `${what}: ${excess} px too wide`);
}

await run({
  'stranger: unusual names are listed, opened by their links, run, and traced': async () => {
    const { actions } = await call(server, 'GET', '/api/v1/actions');
    const keys = Object.keys(actions).filter((key) => key.startsWith('/flow/') && !/large|wide|deep|chatty/.test(key));
    assert.ok(keys.length >= 4, keys.join());
    for (const [at, key] of keys.entries()) {
      const page = await enter(server, 'actions');
      await page.getByRole('option').first().waitFor();
      const name = key.slice('/flow/'.length);
      await page.getByRole('option').filter({ hasText: name }).first().click();
      await page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor();
      await page.reload();
      await page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor();
      await runButton(page).click();
      await output(page).getByText(/ended after/).waitFor();
      await fits(page, name);
      await picture(page, `strange-${at}`);
      await output(page).getByRole('link').first().click();
      await page.getByRole('treegrid').waitFor();
      await fits(page, `trace of ${name}`);
      await page.context().close();
    }
  },

  'stranger: an output of 10 MB, 20,000 members or 60 levels is shown and does not block the page': async () => {
    for (const name of ['large', 'wide', 'deep']) {
      const page = await enter(server, `actions/flow/${name}`);
      await runButton(page).click();
      await output(page).getByText(/ended after/).waitFor();
      await responsive(page, name);
      await picture(page, `strange-${name}`);
      await output(page).getByRole('link').first().click();
      await page.locator('[role=row][aria-level="1"]').first().click();
      await page.getByRole('tab', { name: /^Output/ }).click();
      await responsive(page, `trace of ${name}`);
      await fits(page, name);
      await page.context().close();
    }
  },

  'stranger: 20,000 chunks at once are counted, and the page stays responsive': async () => {
    const page = await enter(server, 'actions/flow/chatty');
    await runButton(page).click();
    await output(page).getByText(/ended after/).waitFor();
    await output(page).getByText(/20,000 chunks/).first().waitFor();
    await responsive(page, 'chatty');
  },

  'stranger: links to what is not there say so, and lead back': async () => {
    for (const [place, text] of [
      ['actions/flow/none', 'There is no /flow/none'],
      ['traces/0123456789abcdef0123456789abcdef', 'This trace does not exist'],
      ['sessions/teashop/none', 'There is no session none'],
      ['sessions/nobody/none', /no (agent|session)/],
      ['datasets/nothing-here', 'The data set cannot be read'],
      ['evals/none', /cannot be read/],
      ['prompts/none', /none/],
      ['nowhere/at/all', /Overview|not here|no such/i],
      ['traces/%E0%A4%A', /does not exist|Traces/],
    ]) {
      expectLostConnections();
      const page = await enter(shop, place);
      await page.getByText(text).first().waitFor();
      await until(`one heading at ${place}`, async () => (await page.locator('h1:visible').count()) === 1);
      await page.keyboard.press('g');
      await page.keyboard.press('o');
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.context().close();
    }
  },

  'stranger: Back and Forward pass through areas, details and selections without a dead end': async () => {
    await runAction(shop, '/flow/hello', 'Ada');
    const { sessionId } = await turn(shop, 'teashop', 'please order "tea"');
    const { traces } = await call(shop, 'GET', '/api/v1/traces');
    const page = await enter(shop);
    const places = ['actions', 'actions/flow/hello', 'sessions', `sessions/teashop/${sessionId}`, 'traces', `traces/${traces[0].traceId}`, 'a2a'];
    for (const place of places) {
      await page.evaluate((hash) => (location.hash = hash), `#/${place}`);
      await page.locator('main h1:visible').first().waitFor();
    }
    for (const place of places.toReversed().slice(1)) {
      await page.goBack();
      await until(`back at ${place}`, () => page.url().includes(`#/${place}`));
      await page.locator('main h1:visible').first().waitFor();
    }
    for (const place of places.slice(1)) {
      await page.goForward();
      await until(`forward at ${place}`, () => page.url().includes(`#/${place}`));
    }
  },

  'stranger: a draft survives a reload, and signing in again': async () => {
    const context = await person('Ada');
    const page = await open(context, await address(shop));
    await go(page, shop, 'actions/flow/hello?as=json');
    await page.getByLabel('Input of hello as JSON').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('"half written');
    await until('the draft', () => page.evaluate(() => JSON.stringify({ ...sessionStorage }).includes('half written')));
    await page.reload();
    await page.getByLabel('Input of hello as JSON').getByText('half written').waitFor();
    expectLostConnections();
    await context.clearCookies();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Address or code').fill(await address(shop));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Input of hello as JSON').getByText('half written').waitFor();
  },

  'stranger: an earlier link to the prompts keeps its token, and its code': async () => {
    for (const secret of [`token=${await tokenOf(shop)}`, (await address(shop)).split('#')[1]]) {
      const page = await open(await person('Ada'), `${shop.url}/prompts/#${secret}`);
      await page.getByRole('heading', { level: 1, name: 'Prompts' }).waitFor();
      assert.ok(!page.url().includes(secret.split('=')[1]), page.url());
      await page.getByRole('option', { name: /riddle/ }).waitFor();
      await page.context().close();
    }
  },

  'stranger: a link with a code or the token that is opened in the same tab leaves the address bar': async () => {
    const page = await enter(shop, 'traces');
    await page.locator('main h1').first().waitFor();
    const code = (await address(shop)).split('#')[1];
    for (const secret of [`token=${await tokenOf(shop)}`, code]) {
      await page.goto(`${shop.url}/#${secret}/actions/flow/hello`);
      await until('the place without the secret', () => page.url() === `${shop.url}/#/actions/flow/hello`);
      await page.getByRole('heading', { level: 1, name: 'hello' }).waitFor();
      await go(page, shop, 'traces');
    }
    await page.context().clearCookies();
    await page.evaluate(() => sessionStorage.clear());
    expectLostConnections();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.goto(await address(shop));
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  },

  'stranger: an application that is killed while it streams ends the run with what to do': async () => {
    expectLostConnections();
    const page = await enter(shop, 'actions/model/offline/demo?as=json');
    await page.getByLabel('Input of offline/demo as JSON').click();
    await page.keyboard.press('Control+A');
    const request = { messages: [{ role: 'user', content: [{ text: 'word '.repeat(300) }] }], config: { delayMs: 200 } };
    await page.keyboard.insertText(JSON.stringify(request));
    await page.keyboard.press('Control+Enter');
    await output(page).getByText(/streaming/).first().waitFor();
    process.kill((await call(shop, 'GET', '/api/v1/app')).pid, 'SIGKILL');
    await output(page).getByText(/failed after/).first().waitFor();
    await picture(page, 'killed-while-streaming');
    // What had come stays readable.
    await output(page).getByText(/word word/).first().waitFor();
    await go(page, shop, '');
    await page.getByRole('button', { name: 'Restart the application' }).click();
    await page.getByText('runs', { exact: true }).waitFor();
  },
});
