// Several runtimes at once: the application of `oxikit start` (JavaScript, V2), another
// one beside it (JavaScript, V1), and one of ours (Rust, V2).
//
//   node many.mjs SCRATCH OXIKIT RUST_APP

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { isAlive, signal, until } from '../../reflection/js/tools.mjs';
import { runCases, traced } from './cases.mjs';
import { application, Oxikit } from './oxikit.mjs';

const [scratch, program, rustApp] = process.argv.slice(2);
const kit = new Oxikit(path.resolve(scratch), program);
let [own, second, rust] = [];

const WHO = '/flow/whoami';
/** What only the JavaScript runtime says of a failure: where in which file. */
const isJs = (error) => /app\.mjs/.test(error.details?.stack ?? '');

const whole = {
  'many: all are listed, oldest first, and the own application is asked': async () => {
    const { runtimes, current } = (await kit.get('/api/v1/runtimes')).json;
    assert.deepEqual(runtimes.map(({ id }) => id), [own.id, second.id, rust.id]);
    assert.deepEqual(runtimes.map(({ name }) => name), ['one', 'two', 'reflect-app']);
    assert.equal(current, own.id);
    assert.match(rust.genkitVersion, /^rust\//);
    const listed = (await kit.succeed(['runtimes', '--json'])).json;
    assert.deepEqual([listed.runtimes.length, listed.current], [3, own.id]);
    const official = await query('getActiveRuntimes');
    assert.deepEqual(official.map(({ id }) => id), [own.id, second.id, rust.id]);
    assert.equal((await query('getCurrentRuntime')).id, own.id);
  },
  'many: the API runs where it is told to': async () => {
    assert.equal((await kit.run(WHO)).json.result.name, 'one');
    for (const { id, pid } of [own, second]) {
      assert.equal((await kit.run(WHO, 0, { runtimeId: id })).json.result.pid, pid);
      const { json } = await kit.post(`/api/v1/run?runtime=${id}`, { key: WHO });
      assert.equal(json.result.pid, pid);
      const { end } = await kit.stream(WHO, 0, { query: `?runtime=${id}` });
      assert.equal(end.data.result.pid, pid);
      assert.equal(isJs((await kit.run('/flow/boom', 1, { runtimeId: id })).json.error), true);
    }
    const failed = (await kit.run('/flow/boom', 1, { runtimeId: rust.id })).json.error;
    assert.deepEqual([failed.message, isJs(failed)], ['kaboom', false]);
    assert.equal((await kit.run(WHO, 0, { runtimeId: rust.id })).status, 404);
  },
  'many: the official endpoints run where they are told to': async () => {
    for (const { id, pid } of [own, second]) {
      const { json } = await kit.post('/api/runAction', { key: WHO, runtimeId: id });
      assert.equal(json.result.pid, pid);
      const { text } = await kit.post('/api/streamAction', { key: WHO, runtimeId: id });
      assert.equal(JSON.parse(text).result.pid, pid);
      assert.ok((await query('listActions', { runtimeId: id }))[WHO]);
    }
    const failed = (await kit.post('/api/runAction', { key: '/flow/boom', input: 1, runtimeId: rust.id })).json.error;
    assert.deepEqual([failed.message, isJs(failed)], ['kaboom', false]);
    assert.equal((await query('listActions', { runtimeId: rust.id }))[WHO], undefined);
  },
  'many: the commands run where they are told to': async () => {
    assert.equal((await kit.succeed(['flow', 'run', 'whoami', '--json'])).json.result.name, 'one');
    for (const { id, pid } of [own, second]) {
      const { json } = await kit.succeed(['flow', 'run', 'whoami', '--runtime', id, '--json']);
      assert.equal(json.result.pid, pid);
      const { actions } = (await kit.succeed(['action', 'list', '--runtime', id, '--json'])).json;
      assert.ok(actions[WHO]);
    }
    const { actions } = (await kit.succeed(['action', 'list', '--runtime', rust.id, '--json'])).json;
    assert.ok(actions['/flow/greet'] && !actions[WHO]);
    const streamed = await kit.succeed(['flow', 'run', 'countdown', '2', '-s', '--runtime', rust.id, '--json']);
    assert.deepEqual(streamed.lines.slice(0, -1), [{ chunk: 2 }, { chunk: 1 }]);
  },
  'many: sessions are with the runtime that has them': async () => {
    for (const { id } of [own, second, rust]) {
      const chat = ['agent', 'chat', 'storeAgent', `at ${id}`, '--session', `s-${id}`, '--runtime', id, '--json'];
      assert.equal((await kit.succeed(chat)).json.text, `Echo: at ${id}`);
      for (const other of [own, second, rust]) {
        const { status } = await kit.get(`/api/agents/storeAgent/sessions/s-${id}?runtime=${other.id}`);
        assert.equal(status, other.id === id ? 200 : 404, `session of ${id} at ${other.id}`);
      }
    }
  },
  'many: sessions are listed, forked and deleted where a runtime offers it': async () => {
    const at = ['--runtime', rust.id, '--json'];
    const { sessions } = (await kit.succeed(['session', 'list', 'storeAgent', ...at])).json;
    assert.deepEqual(sessions.map(({ sessionId }) => sessionId), [`s-${rust.id}`]);
    const forked = (await kit.succeed(['session', 'fork', 'storeAgent', `s-${rust.id}`, ...at])).json;
    const chat = ['agent', 'chat', 'storeAgent', 'more', '--session', forked.sessionId, ...at];
    assert.equal((await kit.succeed(chat)).json.text, 'Echo: more');
    const shown = (await kit.succeed(['session', 'show', 'storeAgent', forked.sessionId, ...at])).json;
    assert.equal(shown.threads.main.length, 4);
    const deleted = await kit.succeed(['session', 'delete', 'storeAgent', forked.sessionId, '--yes', ...at]);
    assert.equal(deleted.json.success, true);
    assert.equal((await kit.oxikit(['session', 'show', 'storeAgent', forked.sessionId, ...at])).code, 1);
  },
  'many: runs at the same time, cancelled where they run': async () => {
    const runs = await Promise.all([own, second, rust].map(async ({ id }) => {
      const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { runtimeId: id, onTrace }));
      return { run, traceId: await known };
    }));
    for (const { run, traceId } of runs.toReversed()) {
      assert.equal((await kit.post(`/api/v1/runs/${traceId}/cancel`)).status, 200);
      assert.equal((await run).end.data.status, 'CANCELLED');
    }
  },
  'many: the traces of all are in one list': async () => {
    const runs = await Promise.all([own, second, rust].map(({ id }) => kit.run('/flow/greet', { name: 'Quorum' }, { runtimeId: id })));
    const expected = runs.map(({ traceId }) => traceId).sort();
    await until('all three', async () => {
      const { traces } = (await kit.get('/api/v1/traces?text=quorum&status=success')).json;
      return traces.map(({ traceId }) => traceId).sort().join() === expected.join();
    }, 5_000);
  },
  'many: the official command asks the newest': async () => {
    const output = await kit.genkit(['flow:run', 'boom', '1']);
    assert.match(output, /Message: kaboom/);
    const { traces } = (await kit.get('/api/v1/traces?name=boom&limit=1')).json;
    const { spans } = (await kit.get(`/api/v1/traces/${traces[0].traceId}`)).json;
    assert.doesNotMatch(JSON.stringify(spans), /app\.mjs/, 'it ran on a JavaScript runtime');
    assert.equal(runtimeFiles().filter((name) => name.startsWith('oxikit-')).length, 2);
  },
};

const deaths = {
  'death: who waits for a runtime that is killed is told, others are not touched': async () => {
    const [lost, lostTrace] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { runtimeId: second.id, onTrace }));
    const [kept, keptTrace] = traced((onTrace) => kit.stream('/flow/slow', 2_500, { runtimeId: own.id, onTrace }));
    await Promise.all([lostTrace, keptTrace]);
    const before = Date.now();
    signal(second.pid, 'SIGKILL');
    assert.equal((await lost).end.data.status, 'UNAVAILABLE');
    assert.ok(Date.now() - before < 2_000, `${Date.now() - before} ms`);
    await until('its end in the list', async () => (await kit.runtimes()).length === 2, 3_000);
    assert.equal((await kept).end.data.result, 'done');
  },
  'death: it cannot be asked any more, and its file is gone': async () => {
    assert.equal((await kit.run(WHO, 0, { runtimeId: second.id })).status, 404);
    assert.equal((await kit.oxikit(['flow', 'run', 'whoami', '--runtime', second.id])).code, 3);
    await until('the end of its file', () => runtimeFiles().length === 2, 3_000);
    assert.ok(runtimeFiles().every((name) => name.startsWith('oxikit-')), runtimeFiles().join());
    assert.equal((await kit.run(WHO)).json.result.name, 'one');
  },
  'death: of the own application: the one that came last is asked, until it is back': async () => {
    assert.equal((await kit.succeed(['app', 'stop', '--json'])).json.state, 'stopped');
    await until('its end in the list', async () => (await kit.runtimes()).length === 1, 3_000);
    assert.equal((await kit.get('/api/v1/runtimes')).json.current, rust.id);
    await until('the end of its file', () => runtimeFiles().length === 1, 3_000);
    assert.equal(isJs((await kit.run('/flow/boom', 1)).json.error), false);
    await kit.succeed(['app', 'restart']);
    await until('its return', async () => (await kit.get('/api/v1/runtimes')).json.current !== rust.id);
    const { result } = (await kit.run(WHO)).json;
    assert.equal(result.name, 'one');
    assert.notEqual(result.pid, own.pid);
    own = { ...own, pid: result.pid };
  },
  'death: the tools end what they started, and only that': async () => {
    assert.equal(await kit.stopTools(), 0);
    assert.deepEqual([isAlive(own.pid), isAlive(rust.pid)], [false, true]);
    assert.deepEqual(runtimeFiles(), []);
  },
};

try {
  await kit.startTools({ env: { APP_NAME: 'one' } });
  own = kit.own;
  second = (await kit.startBeside(application, { v1: true, env: { APP_NAME: 'two' } })).runtime;
  rust = (await kit.startBeside([rustApp])).runtime;
  await runCases(whole);
  await runCases(deaths);
} finally {
  kit.killAll();
}
process.exit();

function runtimeFiles() {
  return fs.readdirSync(path.join(kit.project, '.genkit/runtimes'));
}

/** An official procedure. */
async function query(name, input) {
  const search = input ? `?input=${encodeURIComponent(JSON.stringify(input))}` : '';
  return (await kit.get(`/api/${name}${search}`)).json.result.data;
}
