// `oxikit start` in a project of its own, its API, and its commands.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Tools, ended, until } from '../../reflection/js/tools.mjs';

export const application = ['node', path.join(import.meta.dirname, 'app.mjs')];

export class Oxikit {
  /** `scratch` is emptied; `program` is the binary. */
  constructor(scratch, program) {
    this.official = new Tools(scratch, application);
    this.project = this.official.project;
    fs.symlinkSync(path.join(import.meta.dirname, '../../node_modules'), this.file('node_modules'));
    this.program = program;
  }

  /** Starts the tools with the application, until its runtime is there. */
  async startTools({ v1 = false, env = {}, app = application, flags = [] } = {}) {
    this.v1 = v1;
    const ports = ['--port=0', '--reflection-port=0', '--telemetry-port=0'];
    const mode = v1 ? ['--reflection-v1', ...flags] : flags;
    this.child = this.spawn('start', [this.program, 'start', ...ports, ...mode, '--', ...app], env);
    const file = path.join(this.project, '.oxikit/manager.json');
    await until('the tools', () => this.isRunning() && fs.existsSync(file));
    this.manager = JSON.parse(fs.readFileSync(file));
    /** For programs that take a URL as it is. */
    this.url = `${this.manager.apiUrl}/k/${this.manager.token}`;
    this.own = await until('a runtime', async () => this.isRunning() && (await this.runtimes()).at(0));
  }

  isRunning() {
    if (this.child.exitCode !== null) throw new Error(`oxikit ended with ${this.child.exitCode}`);
    return true;
  }

  async runtimes() {
    return (await this.get('/api/v1/runtimes')).json.runtimes;
  }

  async stopTools() {
    process.kill(this.child.pid, 'SIGTERM');
    return ended(this.child, 8_000);
  }

  /** Starts another program beside the tools, as `oxikit env` says, until it is there. */
  async startBeside(command, { v1 = false, env = {} } = {}) {
    const { json } = await this.succeed(['env', '--json']);
    if (v1) delete json.GENKIT_REFLECTION_V2_SERVER;
    const child = this.spawn(env.APP_NAME ?? 'beside', command, { ...json, ...env });
    const runtime = await until('another runtime', async () => {
      const all = await this.runtimes();
      return all.find(({ pid }) => pid === child.pid);
    });
    return { child, runtime };
  }

  /** What it says goes to a file. */
  spawn(name, command, env) {
    const log = fs.openSync(path.join(this.official.logs, `${name}.log`), 'w');
    const child = this.official.spawn(command[0], command.slice(1), log, env);
    fs.closeSync(log);
    return child;
  }

  get(path) {
    return this.call('GET', path);
  }

  post(path, body = {}, options = {}) {
    return this.call('POST', path, body, options);
  }

  async call(method, path, body, { signal } = {}) {
    const response = await this.fetch(method, path, body, signal);
    const text = await response.text();
    return { ...head(response), text, json: parsed(text) };
  }

  /** A run of `/api/v1`. */
  run(key, input, more = {}) {
    return this.post('/api/v1/run', { key, input, ...more });
  }

  /** The events of a run of `/api/v1`; `onTrace` is told as soon as there is one. */
  async stream(key, input, { query = '', onTrace, ...more } = {}) {
    const events = [];
    const answer = await this.fetch('POST', `/api/v1/stream${query}`, { key, input, ...more });
    if (!answer.ok) return { ...head(answer), json: parsed(await answer.text()), events };
    for await (const event of eventsOf(answer)) {
      if (event.event === 'state') onTrace?.(event.data.traceId);
      events.push(event);
    }
    const chunks = events.filter(({ event }) => event === 'chunk').map(({ data }) => data);
    return { ...head(answer), events, chunks, end: events.at(-1) };
  }

  async fetch(method, path, body, signal) {
    const headers = { authorization: `Bearer ${this.manager.token}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    const text = body === undefined ? undefined : JSON.stringify(body);
    return fetch(this.manager.apiUrl + path, { method, headers, body: text, signal });
  }

  /** Runs a command of ours to its end. */
  async oxikit(args, { input } = {}) {
    const child = this.official.spawn(this.program, args, 'pipe', {}, input === undefined ? 'ignore' : 'pipe');
    if (input !== undefined) child.stdin.end(input);
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (data) => (stdout += data));
    child.stderr.on('data', (data) => (stderr += data));
    try {
      const code = await ended(child);
      const lines = stdout.split('\n').filter(Boolean).map(parsed);
      return { code, stdout, stderr, lines, json: lines.at(-1) };
    } finally {
      this.official.kill(child);
    }
  }

  /** The same, and it has to end with 0. */
  async succeed(args, options) {
    const result = await this.oxikit(args, options);
    assert.equal(result.code, 0, result.stderr || result.stdout);
    return result;
  }

  /** The official command, which has to end with 0. `ours`: as `oxikit env` says. */
  async genkit(args, { ours = true } = {}) {
    const env = ours ? { GENKIT_TELEMETRY_SERVER: this.manager.telemetryUrl } : {};
    const { code, output } = await this.official.run(args, { env });
    assert.equal(code, 0, output);
    return output;
  }

  file(name) {
    return path.join(this.project, name);
  }

  write(name, value) {
    fs.writeFileSync(this.file(name), typeof value === 'string' ? value : JSON.stringify(value));
  }

  read(name) {
    return JSON.parse(fs.readFileSync(this.file(name)));
  }

  killAll() {
    this.official.killAll();
  }
}

/** The events of an answer that is a stream of them. */
export async function* eventsOf(response) {
  let buffer = '';
  const decoder = new TextDecoder();
  for await (const bytes of response.body) {
    buffer += decoder.decode(bytes, { stream: true });
    for (let end; (end = buffer.indexOf('\n\n')) >= 0; buffer = buffer.slice(end + 2)) {
      const event = {};
      for (const line of buffer.slice(0, end).split('\n')) {
        const [, name, value] = line.match(/^(\w+): ?(.*)$/) ?? [];
        if (name) event[name] = value;
      }
      if (event.data !== undefined) yield { ...event, data: JSON.parse(event.data) };
    }
  }
}

/** All of them, when it has ended. */
export async function allEvents(response) {
  const events = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

function head(response) {
  const { status, headers } = response;
  return { status, type: headers.get('content-type'), traceId: headers.get('x-genkit-trace-id') };
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
