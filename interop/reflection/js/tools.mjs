// The official `genkit` in a folder of its own: its home, its project, and the
// loopback only. What is started here leads a process group and is ended with it.

import AdmZip from 'adm-zip';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';

const here = import.meta.dirname;
const packages = path.join(here, '../../node_modules');
const genkit = path.join(packages, 'genkit-cli/dist/bin/genkit.js');
const { version } = JSON.parse(fs.readFileSync(path.join(packages, 'genkit-cli/package.json')));

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Asks until there is an answer. */
export async function until(what, ask, ms = 15_000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(25)) {
    const answer = await ask();
    if (answer) return answer;
  }
  throw new Error(`${what}: not within ${ms} ms`);
}

export class Tools {
  /** `scratch` is emptied; `app` is the command that starts the application. */
  constructor(scratch, app) {
    fs.rmSync(scratch, { recursive: true, force: true });
    this.app = app;
    this.home = path.join(scratch, 'home');
    this.project = path.join(scratch, 'project');
    this.logs = path.join(scratch, 'logs');
    this.started = new Set();
    for (const folder of [this.home, this.project, this.logs]) fs.mkdirSync(folder, { recursive: true });
    // What makes a folder a project; `.genkit` is written beside it.
    fs.writeFileSync(path.join(this.project, 'package.json'), '{"name":"interop","private":true}');
    // The developer UI cannot be fetched without a network: a page stands for it.
    const assets = path.join(this.home, '.genkit/assets', version);
    fs.mkdirSync(assets, { recursive: true });
    const zip = new AdmZip();
    zip.addFile('ui/browser/index.html', Buffer.from('no UI'));
    zip.writeZip(path.join(assets, `${version}.zip`));
  }

  /** Runs `genkit` to its end. With `app: true` it starts the application itself. */
  async run(args, { app = false, env = {} } = {}) {
    const child = this.genkit(args, app, 'pipe', env);
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    try {
      const code = await ended(child);
      return { code, output: output.replaceAll(/\u001b\[\d+m/g, '') };
    } finally {
      this.kill(child);
    }
  }

  /** `genkit start`, until its tools API shows a runtime. */
  async start({ v2 }) {
    const port = await freePort();
    const envFile = path.join(this.logs, `env-${port}`);
    const mode = v2 ? ['--experimental-reflection-v2'] : [];
    const log = fs.openSync(path.join(this.logs, `start-${port}.log`), 'w');
    const child = this.genkit(['start', ...mode, '--port', port, '--write-env-file', envFile], true, log);
    fs.closeSync(log);
    const api = `http://127.0.0.1:${port}`;
    const runtime = await until('a runtime under `genkit start`', async () => {
      if (child.exitCode !== null) throw new Error(`genkit ended with ${child.exitCode}`);
      const answer = await get(`${api}/api/getCurrentRuntime`).catch(() => '{}');
      const runtime = JSON.parse(answer).result?.data;
      return runtime?.id && runtime;
    });
    const env = Object.fromEntries(fs.readFileSync(envFile, 'utf8').split('\n').map((line) => line.split(/=(.*)/)));
    return { child, api, runtime, telemetry: env.GENKIT_TELEMETRY_SERVER };
  }

  /** The application by itself, as a developer starts it, until its file is there. */
  async startApp() {
    const before = this.runtimeFiles().length;
    const child = this.spawn(this.app[0], this.app.slice(1), 'ignore', { GENKIT_ENV: 'dev' });
    await until('a runtime file', () => this.runtimeFiles().length > before);
    return child;
  }

  runtimeFiles() {
    const folder = path.join(this.project, '.genkit/runtimes');
    return fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  }

  genkit(args, app, stdio, env) {
    const runtime = app ? ['--', ...this.app] : [];
    return this.spawn('node', [genkit, ...args, '--non-interactive', ...runtime], stdio, env);
  }

  spawn(command, args, stdio, env = {}, stdin = 'ignore') {
    const guard = `--require ${path.join(here, 'loopback-only.cjs')}`;
    const child = spawn(command, args.map(String), {
      cwd: this.project,
      stdio: [stdin, stdio, stdio],
      detached: true,
      env: {
        ...process.env,
        HOME: this.home,
        NODE_OPTIONS: guard,
        GENKIT_CLI_DISABLE_UPDATE_NOTIFICATIONS: 'true',
        ...env,
      },
    });
    this.started.add(child);
    return child;
  }

  /** Asks what was started, and all that it started, to end. */
  async stop(child) {
    signal(-child.pid, 'SIGTERM');
    return ended(child, 5_000);
  }

  /** Ends it, if it has not. */
  kill(child) {
    this.started.delete(child);
    signal(-child.pid, 'SIGKILL');
  }

  killAll() {
    for (const child of this.started) this.kill(child);
  }
}

/** The exit code of a child; a signal is its name. */
export function ended(child, ms = 30_000) {
  const exit = new Promise((resolve) => {
    if (child.exitCode ?? child.signalCode) return resolve(child.exitCode ?? child.signalCode);
    child.once('close', (code, name) => resolve(code ?? name));
  });
  const late = sleep(ms).then(() => Promise.reject(new Error(`it did not end within ${ms} ms`)));
  return Promise.race([exit, late]);
}

/** Whether there is a process with this id. */
export const isAlive = (pid) => signal(pid, 0);

export function signal(pid, name) {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function get(url) {
  return new Promise((resolve, reject) => {
    http
      .get(url, (response) => {
        let text = '';
        response.on('data', (data) => (text += data)).on('end', () => resolve(text));
      })
      .on('error', reject);
  });
}
