// The developer tools with an application, and a browser that is signed in.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { freePort, open, person, project, Server, until } from '../../prompts-page/js/harness.mjs';

const ODD = fileURLToPath(new URL('app.mjs', import.meta.url));

/** Tools with the demo application. They are on a fixed port, so that they can be started again. */
export async function demo(files = { 'riddle.prompt': 'Tell a riddle about {{topic}}.\n' }) {
  return start(files, ['--demo']);
}

/** Tools with the application of the official SDK in `app.mjs`. */
export async function odd() {
  return start({}, ['--', process.execPath, ODD]);
}

async function start(files, app) {
  const root = await project(files);
  const server = new Server(root, ['start', '--port', String(await freePort()), ...app]);
  await server.start();
  await until('the runtime', async () => (await call(server, 'GET', '/api/v1/runtimes')).runtimes.length > 0);
  return server;
}

async function tokenOf(server) {
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
