// Sessions of agents: snapshots, branches, answers to tools, turns in the background, export.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { picture, run, until } from '../../prompts-page/js/harness.mjs';
import { agents, call, demo, enter, turn } from './tools.mjs';

const server = await demo();

async function exported(page) {
  const press = page.getByRole('button', { name: /^Export/ }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), press]);
  return readFile(await download.path(), 'utf8');
}

const sessionsOf = async (agent) => (await call(server, 'GET', `/api/agents/${agent}/sessions`)).sessions;

await run({
  'sessions: two snapshots are marked and compared, and a branch goes on from an old turn': async () => {
    const { sessionId } = await turn(server, 'teashop', 'please order "green tea"');
    await turn(server, 'teashop', 'please order "scones"', { sessionId });
    const page = await enter(server, `sessions/teashop/${sessionId}`);
    const tree = page.getByRole('list', { name: 'Snapshots of the session' });
    await tree.getByRole('button', { name: /^Turn 1/ }).click();
    await page.getByRole('button', { name: 'Mark turn 1 to compare' }).click();
    await tree.getByText('marked', { exact: true }).waitFor();
    await tree.getByRole('button', { name: /^Turn 2/ }).click();
    await page.getByRole('heading', { name: 'From turn 1 to turn 2' }).waitFor();
    await page.getByText('scones').last().waitFor();
    assert.match(page.url(), /with=/);
    await picture(page, 'snapshots-compared');
    await page.reload();
    await page.getByRole('heading', { name: 'From turn 1 to turn 2' }).waitFor();
    await page.getByRole('button', { name: /JSON Patch/ }).click();
    await page.getByText(/"op"/).first().waitFor();
    await tree.getByRole('button', { name: /^Turn 1/ }).click();
    await page.getByRole('region', { name: 'Turn 1' }).getByRole('button', { name: 'Go on from here' }).click();
    await page.getByLabel('Message', { exact: true }).fill('please order "cake"');
    await page.keyboard.press('Control+Enter');
    await until('a branch', async () => (await call(server, 'GET', `/api/agents/teashop/sessions/${sessionId}`)).snapshots.length === 3);
    await tree.getByRole('button', { name: /cake/ }).waitFor();
    await picture(page, 'branch');
  },

  'sessions: a tool that waits is answered by the form of its schema, and the conversation goes on': async () => {
    const { sessionId } = await turn(server, 'teashop', 'please pay 9');
    const page = await enter(server, `sessions/teashop/${sessionId}`);
    await page.getByRole('heading', { name: 'Really pay 9 euros?' }).waitFor();
    await page.getByLabel('Answer for the tool').first().fill('paid in cash');
    await page.getByRole('button', { name: /^Send answer/ }).click();
    await page.getByText('paid in cash').last().waitFor();
    await until('the end of the turn', async () => {
      const { sessions } = await call(server, 'GET', '/api/agents/teashop/sessions');
      return sessions.find((session) => session.sessionId === sessionId)?.finishReason === 'stop';
    });
  },

  'sessions: a session is exported as a file, and deleted': async () => {
    const { sessionId } = await turn(server, 'teashop', 'please order "water"');
    const page = await enter(server, `sessions/teashop/${sessionId}`);
    const file = JSON.parse(await exported(page));
    assert.match(JSON.stringify(file), /water/);
    await page.getByRole('button', { name: 'More: stop, copy, delete' }).click();
    await page.getByRole('menuitem', { name: 'Delete the session' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await until('the session is gone', async () => {
      const { sessions } = await call(server, 'GET', '/api/agents/teashop/sessions');
      return !sessions.some((session) => session.sessionId === sessionId);
    });
    await until('the list', () => !page.url().includes(sessionId));
  },

  'sessions: the input of an old turn is edited into a new session, and the old one stays': async () => {
    const { sessionId } = await turn(server, 'teashop', 'please order "milk"');
    await turn(server, 'teashop', 'please order "sugar"', { sessionId });
    const page = await enter(server, `sessions/teashop/${sessionId}`);
    await page.getByRole('button', { name: /^Edit the input of turn 2/ }).click();
    await page.getByLabel('Message', { exact: true }).fill('please order "honey"');
    await page.getByRole('button', { name: 'As a new session' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await until('the new session', () => !page.url().includes(sessionId));
    await page.getByText(/honey/).last().waitFor();
    const id = /teashop\/([^?]+)/.exec(page.url())[1];
    await until('its turns', async () => /honey/.test(JSON.stringify(await call(server, 'GET', `/api/agents/teashop/sessions/${id}`))));
    const old = JSON.stringify(await call(server, 'GET', `/api/agents/teashop/sessions/${sessionId}`));
    assert.ok(/sugar/.test(old) && !/honey/.test(old), old);
    assert.ok(!/sugar/.test(JSON.stringify(await call(server, 'GET', `/api/agents/teashop/sessions/${id}`))));
  },

  'sessions: a turn runs in the background, and its answer is there when the page comes back': async () => {
    const page = await enter(server, 'sessions/teashop');
    await page.getByLabel('Message', { exact: true }).fill('please order "night tea"');
    await page.getByRole('button', { name: 'More ways to send' }).click();
    await page.getByRole('menuitem', { name: 'Send, run in the background' }).click();
    await until('the place of the session', () => /teashop\/[^?]+/.test(page.url()));
    const place = page.url();
    await page.goto(`${server.url}/#/`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.goto(place);
    await page.getByText(/on the order now/).last().waitFor();
    await picture(page, 'background');
  },

  'sessions: a turn in the background is found again after a reload, and stopped': async () => {
    const slow = await agents();
    const page = await enter(slow, 'sessions/customAgent');
    await page.getByLabel('Message', { exact: true }).fill('wait 600000');
    await page.getByRole('button', { name: 'More ways to send' }).click();
    await page.getByRole('menuitem', { name: 'Send, run in the background' }).click();
    await page.getByText('Runs in the background').waitFor();
    await page.reload();
    await page.getByPlaceholder('A turn runs in the background').waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByText('This turn was stopped.').waitFor();
    const id = page.url().split('customAgent/')[1].split('?')[0];
    const { snapshots } = await call(slow, 'GET', `/api/agents/customAgent/sessions/${id}`);
    assert.deepEqual(snapshots.map(({ status }) => status), ['aborted']);
  },

  'sessions: the list is searched, filtered by status, and copied as JSON': async () => {
    await turn(server, 'teashop', 'please pay 4711');
    const page = await enter(server, 'sessions');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('option', { name: /please pay 4711/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('4711');
    await until('one row', async () => (await page.locator('[role=option]').count()) === 1);
    await page.getByRole('combobox', { name: /status/i }).selectOption('waits');
    await until('the status in the URL', () => page.url().includes('status=waits'));
    await page.locator('[role=option]', { hasText: '4711' }).waitFor();
    await page.getByRole('button', { name: /as JSON/ }).first().click();
    await until('the list in the clipboard', async () => /sessionId/.test(await page.evaluate(() => navigator.clipboard.readText())));
    assert.ok((await sessionsOf('teashop')).length > 1);
  },
});
