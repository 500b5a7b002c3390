// Our tools with the official Python application.
//
//   node python.mjs v2|v1 SCRATCH OXIKIT PYTHON
//
// The tools are strict: spans come without the token, because Python's runtime loses the
// path of the URL, and have to be taken because the tools know the process.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ended, isAlive, until } from '../../reflection/js/tools.mjs';
import { HEX32, runCases, traced } from './cases.mjs';
import { Oxikit } from './oxikit.mjs';

const [mode, scratch, program, python] = process.argv.slice(2);
const v1 = mode === 'v1';
const kit = new Oxikit(path.resolve(scratch), program);
const app = path.join(import.meta.dirname, '../py/app.py');

const runs = {
  'python: it is listed with its version': async () => {
    const [runtime, ...others] = await kit.runtimes();
    assert.deepEqual(others, []);
    assert.match(runtime.genkitVersion, /^py\//);
    assert.equal(runtime.reflectionApiSpecVersion, 1);
    assert.equal(isAlive(runtime.pid), true);
    assert.equal(runtime.reflectionServerUrl.startsWith(v1 ? 'http:' : 'ws:'), true);
  },
  'python: its actions are listed': async () => {
    const { actions } = (await kit.succeed(['action', 'list', '--json'])).json;
    for (const key of ['/flow/greet', '/flow/countdown', '/flow/boom', '/tool.v2/double', '/util/generate']) {
      assert.ok(actions[key], `${key} is missing: ${Object.keys(actions)}`);
    }
    assert.equal(actions['/flow/greet'].description, 'Greets somebody');
    assert.deepEqual(actions['/flow/greet'].inputSchema.required, ['name']);
  },
  'python: values are listed': async () => {
    const { status, json } = await kit.get('/api/listValues?input={"type":"defaultModel"}');
    assert.deepEqual([status, json.result.data], [200, {}]);
  },
  'python: a flow runs': async () => {
    const { status, json, traceId } = await kit.run('/flow/greet', { name: 'Ada', visits: 3 });
    assert.deepEqual([status, json.result], [200, { text: 'Hi Ada', visits: 3, share: 1.5 }]);
    assert.match(traceId, HEX32);
    assert.equal(json.telemetry.traceId, traceId);
    const printed = (await kit.succeed(['flow', 'run', 'greet', '{"name":"Ada"}', '--json'])).json;
    assert.equal(printed.result.text, 'Hi Ada');
  },
  'python: an integral float is an integer': async () => {
    const body = '{"key":"/flow/greet","input":{"name":"Ada","visits":2.0}}';
    const headers = { authorization: `Bearer ${kit.manager.token}`, 'content-type': 'application/json' };
    const answer = await fetch(`${kit.manager.apiUrl}/api/v1/run`, { method: 'POST', headers, body });
    assert.equal((await answer.json()).result.visits, 2);
  },
  'python: a tool runs': async () => {
    assert.equal((await kit.run('/tool.v2/double', 21)).json.result.output, 42);
  },
  'python: chunks come in their order, then the result': async () => {
    const { chunks, end, events } = await kit.stream('/flow/countdown', 5);
    assert.deepEqual([chunks, end.data.result], [[5, 4, 3, 2, 1], 'liftoff']);
    assert.equal(events[0].event, 'state');
    const { lines } = await kit.succeed(['flow', 'run', 'countdown', '3', '-s', '--json']);
    assert.deepEqual(lines.slice(0, -1), [{ chunk: 3 }, { chunk: 2 }, { chunk: 1 }]);
  },
  'python: runs at the same time keep to themselves': async () => {
    const all = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => kit.stream('/flow/countdown', n)));
    all.forEach(({ chunks }, place) => assert.equal(chunks.length, place + 1));
  },
  'python: a failure is told with its message': async () => {
    const { json } = await kit.run('/flow/boom', 1);
    assert.match(json.error.message, /kaboom/);
    const { end } = await kit.stream('/flow/boom', 1);
    assert.match(end.data.message, /kaboom/);
    assert.equal((await kit.oxikit(['flow', 'run', 'boom', '1'])).code, 1);
  },
  'python: a failure keeps its status': async () => {
    const { json } = await kit.run('/flow/refuse', 1);
    assert.deepEqual([json.error.code, json.error.status], [7, 'PERMISSION_DENIED']);
  },
  'python: bad input and unknown actions are refused': async () => {
    const bad = (await kit.run('/flow/greet', { visits: 1 })).json;
    assert.ok((bad.error ?? bad).message, JSON.stringify(bad));
    assert.equal((await kit.run('/flow/nothing', 1)).status, 404);
  },
  'python: a run is cancelled': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { onTrace }));
    const traceId = await known;
    const before = Date.now();
    assert.equal((await kit.post(`/api/v1/runs/${traceId}/cancel`)).status, 200);
    assert.equal((await run).end.data.status, 'CANCELLED');
    assert.ok(Date.now() - before < 5_000, `${Date.now() - before} ms`);
    assert.equal((await kit.post(`/api/v1/runs/${traceId}/cancel`)).status, 404);
  },
  'python: the official endpoints run it': async () => {
    const { json } = await kit.post('/api/runAction', { key: '/flow/greet', input: { name: 'Ada' } });
    assert.equal(json.result.text, 'Hi Ada');
    const { text } = await kit.post('/api/streamAction', { key: '/flow/countdown', input: 2 });
    assert.deepEqual(text.split('\n').slice(0, 2), ['2', '1']);
    assert.equal(JSON.parse(text.split('\n')[2]).result, 'liftoff');
  },
};

const telemetry = {
  'python: the trace of a run is whole, and known to be its own': async () => {
    const { traceId } = await kit.run('/flow/outer', 'Ada');
    const { trace, spans } = await endedTrace(traceId);
    assert.deepEqual([trace.name, trace.status, trace.type], ['outer', 'success', 'flow']);
    assert.deepEqual(spans.map(({ span }) => span.displayName).sort(), ['greet', 'outer']);
    const root = spans.find(({ span }) => span.displayName === 'outer').span;
    const inner = spans.find(({ span }) => span.displayName === 'greet').span;
    assert.equal(inner.parentSpanId, root.spanId);
    assert.equal(root.attributes['genkit:output'], '"Hi Ada!"');
    for (const { span } of spans) assert.equal(span.attributes['oxikit:unverified'], undefined);
  },
  'python: the trace of a failure says why': async () => {
    const { traceId } = await kit.run('/flow/boom', 1);
    const { trace, spans } = await endedTrace(traceId);
    assert.equal(trace.status, 'error');
    assert.match(JSON.stringify(spans), /kaboom/);
    const found = (await kit.succeed(['trace', 'list', '--status', 'error', '--json'])).json;
    assert.ok(found.traces.some((other) => other.traceId === traceId));
  },
  'python: a trace is found by its words': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Quasar' });
    await until('the trace', async () => {
      const { traces } = (await kit.get('/api/v1/traces?text=quasar&status=success')).json;
      return traces.some((trace) => trace.traceId === traceId);
    }, 5_000);
  },
  'python: its log lines are with their trace': async () => {
    const { traceId } = await kit.run('/flow/tell', 'plumage');
    const logs = await until('two lines', async () => {
      const { logs } = (await kit.get(`/api/v1/logs?traceId=${traceId}`)).json;
      return logs.length >= 2 && logs;
    }, 5_000);
    const line = logs.find(({ body }) => body === 'the word is plumage');
    assert.deepEqual([line?.severityText, line?.severityNumber], ['INFO', 9]);
    assert.ok(logs.some(({ severityNumber }) => severityNumber === 17));
    for (const log of logs) assert.equal(log.attributes['oxikit:unverified'], undefined);
  },
  'python: spans of another process are refused': async () => {
    const [base] = kit.manager.telemetryUrl.split('/t/');
    const post = `import urllib.request as u
r = u.Request('${base}/api/traces', data=b'{"traceId":"foreign","spans":{}}', headers={'Content-Type': 'application/json'})
try: print(u.build_opener(u.ProxyHandler({})).open(r).status)
except u.HTTPError as e: print(e.code)`;
    const other = spawn(python, ['-c', post], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    other.stdout.on('data', (data) => (said += data));
    assert.equal(await ended(other), 0);
    assert.equal(said.trim(), '401');
  },
};

const lives = {
  'python: it is restarted, and runs again': async () => {
    const [before] = await kit.runtimes();
    await kit.succeed(['app', 'restart']);
    const after = await until('its return', async () => {
      const [runtime] = await kit.runtimes();
      return runtime && runtime.pid !== before.pid && runtime;
    });
    assert.equal((await kit.run('/flow/whoami', 1)).json.result.pid, after.pid);
    const { traceId } = await kit.run('/flow/greet', { name: 'again' });
    assert.equal((await endedTrace(traceId)).trace.status, 'success');
  },
  'python: it is killed, and who waits is told': async () => {
    const [{ pid }] = await kit.runtimes();
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { onTrace }));
    await known;
    process.kill(pid, 'SIGKILL');
    assert.equal((await run).end.data.status, 'UNAVAILABLE');
  },
  'python: the tools end, and nothing is left': async () => {
    await kit.succeed(['app', 'restart']);
    const { pid } = await until('its return', async () => (await kit.runtimes())[0]);
    assert.equal(await kit.stopTools(), 0);
    assert.equal(isAlive(pid), false);
    assert.deepEqual(fs.readdirSync(path.join(kit.project, '.genkit/runtimes')), []);
  },
};

try {
  await kit.startTools({ v1, app: [python, app], flags: ['--strict'], env: { PYTHONDONTWRITEBYTECODE: '1' } });
  await runCases(runs);
  await runCases(telemetry);
  await runCases(lives);
} finally {
  kit.killAll();
}
process.exit();

/** A trace when all of its spans have come. */
function endedTrace(traceId) {
  return until('the whole trace', async () => {
    const { status, json } = await kit.get(`/api/v1/traces/${traceId}`);
    const isWhole = status === 200 && json.spans.every(({ span }) => span.endTime > 0);
    return isWhole && json.trace.status !== 'running' && json;
  }, 5_000);
}
