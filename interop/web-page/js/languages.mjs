// The main things with the official JavaScript and Python applications: actions, runs, streams,
// failures, traces, log lines; and two runtimes of different languages side by side.
//
//   node languages.mjs PROGRAM PICTURES PYTHON

import assert from 'node:assert/strict';

import { picture, run, until } from '../../prompts-page/js/harness.mjs';
import { call, enter, javascript, javascriptBeside, python, runAction } from './tools.mjs';

const LANGUAGES = {
  javascript: { server: await javascript(), version: /^nodejs\//, logged: ['/flow/greet', { name: 'Ada' }, 'greeting Ada'] },
  python: { server: await python(process.argv[4]), version: /^py\//, logged: ['/flow/tell', 'tea', 'the word is tea'] },
};

const runButton = (page) => page.getByRole('region', { name: 'Input' }).getByRole('button', { name: /^Run/ });
const output = (page) => page.getByRole('region', { name: 'Output' });
const [js, py] = [LANGUAGES.javascript.server, LANGUAGES.python.server];
const cases = {};

for (const [language, { server, version, logged }] of Object.entries(LANGUAGES)) {
  cases[`${language}: the overview shows the runtime and its language`] = async () => {
    const { runtimes } = await call(server, 'GET', '/api/v1/runtimes');
    assert.match(runtimes[0].genkitVersion, version);
    const page = await enter(server);
    await page.getByRole('region', { name: 'Runtimes' }).getByText(runtimes[0].genkitVersion).waitFor();
    await picture(page, `${language}-overview`);
  };

  cases[`${language}: actions are listed, found by typing, and run from the form of their schema`] = async () => {
    const page = await enter(server, 'actions');
    await page.getByRole('option', { name: /countdown/ }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('greet');
    await page.getByRole('option', { name: /greet/ }).first().click();
    await page.getByRole('textbox', { name: 'name' }).fill('Ada');
    await runButton(page).click();
    await output(page).getByText(/ended after/).waitFor();
    await output(page).getByText('Hi Ada').first().waitFor();
    await picture(page, `${language}-run`);
  };

  cases[`${language}: chunks are shown as they come, and a failure with its message and trace`] = async () => {
    const page = await enter(server, 'actions/flow/countdown');
    await page.getByRole('spinbutton').or(page.getByRole('textbox', { name: /Input|value/i })).first().fill('3');
    await runButton(page).click();
    await output(page).getByText(/3 chunks/).first().waitFor();
    await output(page).getByText('liftoff').first().waitFor();
    await picture(page, `${language}-stream`);
    await page.goto(`${server.url}/#/actions/flow/boom?as=json`);
    await page.getByLabel('Input of boom as JSON').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('1');
    await page.keyboard.press('Control+Enter');
    await output(page).getByText(/kaboom/).first().waitFor();
    await output(page).getByRole('link', { name: 'Open trace' }).click();
    await page.getByRole('treegrid').waitFor();
    await page.getByText(/kaboom/).first().waitFor();
    await picture(page, `${language}-failure`);
  };

  cases[`${language}: a run is stopped`] = async () => {
    const page = await enter(server, 'actions/flow/slow?as=json');
    await page.getByLabel('Input of slow as JSON').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('60000');
    await page.keyboard.press('Control+Enter');
    await output(page).getByText(/running/).first().waitFor();
    await page.keyboard.press('Control+.');
    await output(page).getByText(/(stopped|failed) after/).waitFor();
  };

  cases[`${language}: a trace shows spans, input, output and log lines, and is found by its runtime`] = async () => {
    const [key, input, line] = logged;
    const { telemetry } = await runAction(server, key, input);
    const page = await enter(server, `traces/${telemetry.traceId}`);
    await page.locator('[role=row][aria-level="1"]').first().click();
    await page.getByRole('tab', { name: /^Logs/ }).click();
    await page.getByText(line).first().waitFor();
    await picture(page, `${language}-logs`);
    await page.getByRole('tab', { name: /^Input/ }).click();
    await page.getByText(typeof input === 'string' ? input : input.name).first().waitFor();
    const { runtimes } = await call(server, 'GET', '/api/v1/runtimes');
    await page.goto(`${server.url}/#/traces?q=${encodeURIComponent(`runtime:"${runtimes[0].id}"`)}`);
    await page.getByRole('option', { name: new RegExp(key.split('/').at(-1)) }).first().waitFor();
    await picture(page, `${language}-traces`);
  };
}

cases['javascript: one call goes to two models, and both outputs are shown and stopped together'] = async () => {
  const page = await enter(js, 'actions/model/echo/model');
  await page.getByLabel('Text of message 1').fill('Hello Ada');
  await page.getByRole('button', { name: 'Compare with' }).click();
  await page.getByRole('button', { name: 'asking' }).click();
  await until('the second model in the URL', () => page.url().includes('with='));
  await runButton(page).click();
  const [first, second] = ['Output 1, echo/model', 'Output 2, asking'].map((name) => page.getByRole('region', { name }));
  for (const one of [first, second]) await one.getByText(/ended after/).waitFor();
  await first.getByText('Echo: Hello Ada').first().waitFor();
  await second.getByText('really?').first().waitFor();
  await picture(page, 'two-models');
  // The link shows the same comparison, and its end leaves the call.
  await page.reload();
  await second.waitFor();
  await page.getByRole('button', { name: 'End comparison' }).click();
  await until('one model in the URL', () => !page.url().includes('with='));
  assert.equal(await page.getByLabel('Text of message 1').inputValue(), 'Hello Ada');
};

cases['javascript: an agent of the application asks back, and is answered in the page'] = async () => {
  const page = await enter(js, 'sessions/askingAgent');
  await page.getByLabel('Message', { exact: true }).fill('hello');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('region', { name: 'askUser waits for your answer' }).waitFor();
  // A tool that only asks cannot run: the card says so, and has no button for it.
  await page.getByText(/askUser only asks/).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Let askUser run' }).count(), 0);
  await picture(page, 'javascript-interrupt');
  await page.getByLabel('Answer for the tool').first().fill('yes, really');
  await page.getByRole('button', { name: /^Send answer/ }).click();
  await page.getByText('you said yes, really').first().waitFor();
};

cases['two runtimes: the same call goes to both, and traces are filtered by either'] = async () => {
  await javascriptBeside(py, 'kitchen');
  const { runtimes } = await call(py, 'GET', '/api/v1/runtimes');
  const page = await enter(py, 'actions/flow/whoami?as=json');
  await page.getByLabel('Input of whoami as JSON').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('1');
  await page.getByRole('button', { name: 'Compare with' }).click();
  await page.getByRole('button', { name: /kitchen/ }).click();
  await until('the second runtime in the URL', () => page.url().includes('withRuntime='));
  await runButton(page).click();
  for (const [at, { pid }] of runtimes.entries()) {
    const one = page.getByRole('region', { name: new RegExp(`^Output ${at + 1}, `) });
    await one.getByText(/ended after/).waitFor();
    await one.getByText(new RegExp(String(pid))).last().waitFor();
  }
  await picture(page, 'two-runtimes');
  await page.goto(`${py.url}/#/traces?q=runtime%3Akitchen`);
  await page.getByRole('option', { name: /whoami/ }).first().waitFor();
  assert.equal(await page.getByRole('option').count(), 1);
};

await run(cases);
