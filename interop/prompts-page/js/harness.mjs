// What all suites of pages use, also those of `web-page`: servers on free ports, a browser, and the list of cases. A suite is
// `node suite.mjs <program> <folder for pictures>`; it prints `ok name` or `FAILED name: why`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

export const [program, pictures] = process.argv.slice(2);

/** Longest time that something may take on a busy machine. */
export const PATIENCE = 20_000;

const cleaning = [];

/** Calls the function when the suite ends. */
export function atEnd(clean) {
  cleaning.push(clean);
}

/** A project with these files in its folder `prompts`. Pages show the name of its folder. */
export async function project(files, name = 'project') {
  const folder = await mkdtemp(join(tmpdir(), 'oxikit-page-'));
  cleaning.push(() => rm(folder, { recursive: true, force: true }));
  const root = join(folder, name);
  await mkdir(join(root, 'prompts'), { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    const path = join(root, 'prompts', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
  return root;
}

/** A port that was free a moment ago. */
export async function freePort(wanted = 0) {
  const server = createServer();
  server.listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort(0);
  }
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** A running program of the project. */
export class Server {
  constructor(root, args) {
    this.root = root;
    this.args = args;
  }

  /** Starts it and waits until it prints its URL. */
  async start() {
    this.child = spawn(program, this.args, { cwd: this.root, stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = once(this.child, 'exit');
    for await (const line of createInterface({ input: this.child.stdout })) {
      const url = /(?:prompts|tools)\s+(http:\/\/\S+)/.exec(line)?.[1];
      if (!url) continue;
      this.url = url.replace(/\/$/, '');
      // The rest of the output is read, so that the program never waits for a reader.
      this.child.stdout.resume();
      cleaning.push(() => this.kill());
      return this;
    }
    throw new Error(`\`${this.args.join(' ')}\` ended before it listened`);
  }

  async kill() {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.ended;
  }

  async stop() {
    this.child.kill('SIGINT');
    await this.ended;
  }
}

/** A prompt manager for these files, on a fixed port so that it can be started again. */
export async function prompts(files, { port, args = [] } = {}) {
  const root = await project(files);
  const chosen = port ?? (await freePort());
  return new Server(root, ['prompts', 'prompts', '--port', String(chosen), ...args]).start();
}

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
});

/** All that went wrong in the pages of the current case. */
let errors = [];

/** Lines of the console that a lost server causes. */
const LOST =
  /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|WebSocket connection to|status of (401|404|503)/;
let mayLose = false;
/** A prompt manager alone has none of the developer tools: the page asks for them to find out. */
const ABSENT = /\/api\/v1\/(?:info|doctor)$/;

/** The browser notes a request that the server refuses. */
const REFUSED = /status of 400/;
let mayBeRefused = false;

/** What a page asks about its document, which somebody else may delete at the same moment. */
const GONE = /\/api\/prompts\/preview$/;
let mayBeGone = false;

/** The document of a page may be deleted from now on, in this case. */
export function expectDeletion() {
  mayBeGone = true;
}

/** A request that the server refuses is expected from now on, in this case. */
export function expectRefusal() {
  mayBeRefused = true;
}

/** Errors that a lost connection causes are expected from now on, in this case. */
export function expectLostConnections() {
  mayLose = true;
}

/** A person: a browser profile with a name. */
export async function person(name, { width = 1440, height = 900, dark = false, ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    ...options,
  });
  await context.addInitScript((own) => {
    localStorage.setItem('oxikit.name', own);
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      console.error(`policy: ${violatedDirective} ${blockedURI}`);
    });
  }, name);
  return context;
}

/** Opens a page and records what goes wrong in it. */
export async function open(context, url) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const { host } = new URL(url);
  page.on('pageerror', (error) => errors.push(`page: ${error.message}`));
  page.on('dialog', (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const isLost = (mayLose && LOST.test(message.text())) || (mayBeRefused && REFUSED.test(message.text()));
    const { url: asked } = message.location();
    const isAbsent =
      message.text().includes('404') && (ABSENT.test(asked) || (mayBeGone && GONE.test(asked)));
    if (['error', 'warning'].includes(message.type()) && !isLost && !isAbsent) {
      errors.push(`console: ${message.text()} (${message.location().url})`);
    }
  });
  const requested = (address) => {
    if (new URL(address).host !== host) errors.push(`request to another host: ${address}`);
  };
  page.on('request', (request) => requested(request.url()));
  page.on('websocket', (socket) => requested(socket.url()));
  await page.goto(url);
  return page;
}

/** Opens a document by a name and waits for its editor. `id` is the name that the page shows. */
export async function openDocument(context, server, name, id = name) {
  const page = await open(context, `${server.url}/#/prompts/${name.split('/').map(encodeURIComponent).join('/')}`);
  await editorOf(page, id).waitFor();
  return page;
}

export function editorOf(page, id) {
  return page.getByLabel(`Text of ${id}`, { exact: true });
}

/** The text in the editor, without the names at the cursors of others. */
export function textOf(page, id) {
  return editorOf(page, id).evaluate((editor) => {
    const copy = editor.cloneNode(true);
    for (const cursor of copy.querySelectorAll('.cm-person')) cursor.remove();
    return [...copy.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\n');
  });
}

/** Waits until a condition holds. */
export async function until(what, condition) {
  const end = Date.now() + PATIENCE;
  for (let last; ; ) {
    try {
      if (await condition()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`${what} did not happen${last ? `: ${last.message}` : ''}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** Waits until the page says that everything is saved. */
export async function saved(page) {
  await page.locator('.status', { hasText: 'Saved' }).waitFor();
}

export async function picture(page, name) {
  await page.screenshot({ path: join(pictures, `${name}.png`), animations: 'disabled' });
}

const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Runs axe. The debugger inserts it: the policy of the page forbids every script element. */
export async function accessible(page, where) {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const result = await globalThis.axe.run(document, { runOnly: tags });
    return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`);
  });
  assert.deepEqual(violations, [], where);
}

/** Runs the cases one after the other. */
export async function run(cases) {
  let failed = 0;
  for (const [name, test] of Object.entries(cases)) {
    errors = [];
    mayLose = false;
    mayBeGone = false;
    mayBeRefused = false;
    try {
      await test();
      if (errors.length > 0) throw new Error(`in the page: ${errors.join('; ')}`);
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}: ${error.message.replaceAll('\n', ' ')}`);
      console.error(error);
      const pages = browser.contexts().flatMap((context) => context.pages());
      for (const [at, page] of pages.entries()) await picture(page, `failed-${failed}-${at}`).catch(() => {});
    }
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
  for (const clean of cleaning.reverse()) await clean();
  process.exitCode = failed ? 1 : 0;
}
