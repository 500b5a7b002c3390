// What a person does in each area, with the demo application.

import assert from 'node:assert/strict';

import { expectLostConnections, editorOf, picture, run, saved, until } from '../../prompts-page/js/harness.mjs';
import { call, demo, enter, runAction, streamAction, turn } from './tools.mjs';

const server = await demo();

await run({
  'overview: failures, waiting sessions, runtimes, the log and what doctor finds are shown; a failed run is repeated': async () => {
    await runAction(server, '/flow/broken', 'x');
    const { sessionId } = await turn(server, 'teashop', 'please pay 12');
    const page = await enter(server);
    await page.getByText('One session waits for you').waitFor();
    await page.getByText('Really pay 12 euros?').waitFor();
    await page.getByText('FAILED_PRECONDITION: x').first().waitFor();
    await page.getByRole('log', { name: 'Last lines of the application' }).waitFor();
    await page.getByRole('region', { name: 'Runtimes' }).getByText('in use').waitFor();
    await page.getByRole('region', { name: 'Doctor' }).getByText('trace database').waitFor();
    await picture(page, 'overview');
    await page.getByRole('button', { name: 'Run again: broken, with the same input' }).first().click();
    await page.getByText(/broken failed again/).first().waitFor();
    await page.getByRole('link', { name: /^Answer session/ }).first().click();
    await until('the session', () => page.url().includes(`#/sessions/teashop/${sessionId}`));
  },

  'overview: a run is listed while it runs, and stopped': async () => {
    const page = await enter(server);
    const input = { messages: [{ role: 'user', content: [{ text: 'word '.repeat(200) }] }], config: { delayMs: 200 } };
    const running = streamAction(server, '/model/offline/demo', input);
    await page.getByRole('button', { name: 'Stop offline/demo' }).click();
    assert.match(await running, /event: error/);
    await until('nothing runs', async () => (await page.getByRole('button', { name: 'Stop offline/demo' }).count()) === 0);
  },

  'overview: an application that is killed is reported, and restarted from the page': async () => {
    expectLostConnections();
    const page = await enter(server);
    await page.getByText('runs', { exact: true }).waitFor();
    const { pid } = await call(server, 'GET', '/api/v1/app');
    process.kill(pid, 'SIGKILL');
    await page.getByText('The application has ended', { exact: true }).waitFor();
    await page.getByText('No runtime is connected.').waitFor();
    await picture(page, 'application-killed');
    await page.getByRole('button', { name: 'Restart the application' }).click();
    await page.getByText('runs', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Runtimes' }).getByText('in use').waitFor();
  },

  'actions: a flow is found by typing, run from its form, and its trace is one click away': async () => {
    const page = await enter(server, 'actions');
    await page.getByRole('option', { name: /hello/ }).first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('hello');
    await page.getByRole('option', { name: /hello/ }).first().click();
    await page.getByRole('button', { name: 'JSON', exact: true }).first().click();
    const editor = page.getByLabel('Input of hello as JSON');
    await editor.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('"Ada"');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/ended after/).first().waitFor();
    await picture(page, 'action-run');
    await page.getByText('Ada').last().waitFor();
  },

  'sessions: an interrupt is answered from the page, and a fork keeps the old session': async () => {
    const { sessionId } = await turn(server, 'teashop', 'please pay 7');
    const page = await enter(server, `sessions/teashop/${sessionId}`);
    await page.getByText('Really pay 7 euros?').first().waitFor();
    await picture(page, 'interrupt');
    const before = (await call(server, 'GET', '/api/agents/teashop/sessions')).sessions.length;
    await page.getByRole('button', { name: 'Let pay run' }).click();
    await until('the end of the turn', async () => {
      const { sessions } = await call(server, 'GET', '/api/agents/teashop/sessions');
      return sessions.find((session) => session.sessionId === sessionId)?.finishReason === 'stop';
    });
    await page.getByRole('button', { name: /^Fork/ }).first().click();
    await until('the fork', async () => (await call(server, 'GET', '/api/agents/teashop/sessions')).sessions.length > before);
    await until('the place of the fork', () => !page.url().includes(sessionId));
    await picture(page, 'fork');
  },

  'sessions: a message is sent and its answer streamed': async () => {
    const page = await enter(server, 'sessions/teashop');
    await page.getByLabel('Message', { exact: true }).fill('please order "green tea"');
    await page.keyboard.press('Control+Enter');
    await page.getByText(/green tea/).last().waitFor();
    await until('a session', () => /#\/sessions\/teashop\/.+/.test(page.url()));
    await picture(page, 'chat');
  },

  'traces: the filter is in the URL, and a trace opens with its spans': async () => {
    await runAction(server, '/flow/umbrella', 'Oslo');
    const page = await enter(server, 'traces?q=status%3Aerror');
    await page.getByRole('option', { name: /broken/ }).first().waitFor();
    assert.equal(await page.getByRole('option', { name: /umbrella/ }).count(), 0);
    const { traces } = await call(server, 'GET', '/api/v1/traces?name=umbrella');
    await page.goto(`${server.url}/#/traces/${traces[0].traceId}`);
    await page.getByRole('treegrid').waitFor();
    await page.getByRole('row', { name: /weather/ }).first().click();
    await picture(page, 'trace');
    await until('the span in the URL', () => page.url().includes('span='));
  },

  'data sets: a case is added, evaluated, and its result shown': async () => {
    await call(server, 'POST', '/api/v1/datasets', {
      datasetId: 'greetings',
      data: [{ input: 'Ada' }, { input: 'Bo' }],
      targetAction: '/flow/hello',
      datasetType: 'FLOW',
    });
    const page = await enter(server, 'datasets/greetings');
    await page.getByRole('heading', { name: 'greetings' }).first().waitFor();
    await page.getByText(/2 cases/).first().waitFor();
    await page.getByRole('button', { name: 'Add case' }).click();
    await page.getByLabel('Input').first().fill('"Cleo"');
    await page.getByRole('button', { name: 'Save case' }).click();
    await until('the case', async () => (await call(server, 'GET', '/api/v1/datasets/greetings')).dataset.size === 3);
    await picture(page, 'dataset');
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    await until('the evaluation', async () => (await call(server, 'GET', '/api/v1/evaluations')).evaluations.length > 0);
    const { evaluations } = await call(server, 'GET', '/api/v1/evaluations');
    await page.goto(`${server.url}/#/evals/${evaluations[0].evalRunId}`);
    await page.getByText('mentionsInput').first().waitFor();
    await picture(page, 'evaluation');
  },

  'prompts: a prompt of the project is edited and saved inside of the tools': async () => {
    const page = await enter(server, 'prompts/riddle');
    await editorOf(page, 'riddle').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('Make it short.');
    await saved(page);
    await page.locator('.messages').waitFor();
    await picture(page, 'prompt');
  },

  'a2a: the card of the served agent is shown, and a message is answered': async () => {
    const { lastLines } = await call(server, 'GET', '/api/v1/app');
    const url = /oxikit a2a chat (http:\/\/\S+)/.exec(lastLines.join('\n'))[1];
    const page = await enter(server, 'a2a');
    await page.getByRole('textbox').first().fill(url);
    await page.keyboard.press('Enter');
    await page.getByText('teashop').first().waitFor();
    await picture(page, 'a2a-card');
  },
});
