// The developer tools with an application, and a browser that is signed in.

import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { atEnd, freePort, open, person, program, project, Server, until } from '../../prompts-page/js/harness.mjs';

const file = (path) => fileURLToPath(new URL(path, import.meta.url));
const ODD = file('app.mjs');
const STRANGE = file('strange_app.mjs');
const JS = file('../../manager/js/app.mjs');
const PYTHON = file('../../manager/py/app.py');

/** Tools with the demo application. They are on a fixed port, so that they can be started again. */
export async function demo(files = { 'riddle.prompt': 'Tell a riddle about {{topic}}.\n' }, name = undefined) {
  return start(files, ['--demo'], name);
}

/** Tools with the application of the official SDK in `app.mjs`, and these prompts. */
export async function odd(files = {}) {
  return start(files, ['--', process.execPath, ODD]);
}

/** Tools with the application of unusual names and values in `strange_app.mjs`. */
export async function strange() {
  return start({}, ['--', process.execPath, STRANGE]);
}

/** Tools with our application of the suites of `agents`, whose agents can be slow. */
export async function agents() {
  return start({}, ['--', join(dirname(program), 'oxikit-interop-agents-app')]);
}

/** Tools with the official JavaScript application of the suites of `manager`. */
export async function javascript() {
  return start({}, ['--', process.execPath, JS]);
}

/** Tools with the official Python application of those suites. */
export async function python(interpreter) {
  return start({}, ['--', interpreter, PYTHON]);
}

/** Starts the JavaScript application beside the application of the tools; it ends with the suite. */
export async function javascriptBeside(server, name) {
  const { stdout } = await promisify(execFile)(program, ['env'], { cwd: server.root });
  const settings = Object.fromEntries(stdout.trim().split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
  const child = spawn(process.execPath, [JS], { cwd: server.root, env: { ...process.env, ...settings, APP_NAME: name }, stdio: 'ignore' });
  atEnd(() => child.kill());
  await until('the second runtime', async () => (await call(server, 'GET', '/api/v1/runtimes')).runtimes.length > 1);
}

async function start(files, app, name) {
  const root = await project(files, name);
  const server = new Server(root, ['start', '--port', String(await freePort()), ...app]);
  await server.start();
  await until('the runtime', async () => (await call(server, 'GET', '/api/v1/runtimes')).runtimes.length > 0);
  return server;
}

/** The token of the API. */
export async function tokenOf(server) {
  return JSON.parse(await readFile(join(server.root, '.oxikit', 'manager.json'), 'utf8')).token;
}

/** A request with the token, as programs make it. */
export async function call(server, method, path, body) {
  const headers = { authorization: `Bearer ${await tokenOf(server)}`, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return answer.json();
}

/** Runs an action to its end, also if it fails. */
export function runAction(server, key, input) {
  return call(server, 'POST', '/api/v1/run', { key, input });
}

/** Runs an action and reads its stream to the end. Returns the events as text. */
export async function streamAction(server, key, input) {
  const headers = { authorization: `Bearer ${await tokenOf(server)}`, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/api/v1/stream`, { method: 'POST', headers, body: JSON.stringify({ key, input }) });
  return answer.text();
}

/** One turn with an agent. Returns its result. */
export async function turn(server, agent, text, init) {
  const path = `/api/agents/${agent}/execute`;
  const { result } = await call(server, 'POST', path, { input: text, ...(init && { init }) });
  return result;
}

/** The URL of the agent that the demo application serves over A2A. */
export async function agentUrl(server) {
  const { lastLines } = await call(server, 'GET', '/api/v1/app');
  return /oxikit a2a chat (http:\/\/\S+)/.exec(lastLines.join('\n'))[1];
}

/** A new address with a code that signs in. */
export async function address(server) {
  return (await call(server, 'POST', '/api/v1/sign-in/codes', {})).url;
}

/** Opens a place of the page in a new browser profile that signs in. */
export async function enter(server, place = '', options = {}) {
  const context = await person('Ada', options);
  const page = await open(context, await address(server));
  await page.getByRole('navigation', { name: 'Main' }).first().waitFor({ state: 'attached' });
  if (place) await go(page, server, place);
  return page;
}

/** Goes to a place by its URL, as a deep link does. */
export async function go(page, server, place) {
  await page.goto(`${server.url}/#/${place}`);
}
