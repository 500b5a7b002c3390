// Our tools with a runtime that does everything in the least usual way.
//
//   node odd.mjs SCRATCH OXIKIT

import assert from 'node:assert/strict';
import path from 'node:path';
import { Oxikit } from './oxikit.mjs';
import { runCases, traced } from './cases.mjs';

const [scratch, program] = process.argv.slice(2);
const app = ['node', path.join(import.meta.dirname, 'odd/runtime.mjs')];
const HEX32 = /^[0-9A-Fa-f]{32}$/;

function cases(kit, mode) {
  const v1 = mode === 'v1';
  const posted = (kind) => kit.run('/flow/post', kind);
  /** Posts, and answers the trace as the official API has it. */
  const stored = async (kind) => {
    const { json, traceId } = await posted(kind);
    assert.deepEqual([kind, json.result.status], [kind, 200], JSON.stringify(json));
    const { spans, traceId: id } = (await kit.get(`/api/getTrace?input=${encodeURIComponent(JSON.stringify({ traceId }))}`)).json.result.data;
    const [span, ...others] = Object.values(spans);
    assert.deepEqual(others, []);
    assert.equal(id.toUpperCase(), traceId.toUpperCase());
    assert.deepEqual([span.displayName, span.startTime, span.endTime], ['odd flow', 1794724507238, 1794724507240], kind);
    assert.equal('parentSpanId' in span, false);
    assert.equal(span.attributes['oxikit:unverified'], undefined);
    return { span, traceId };
  };
  const all = {
    'it is listed with its whole id': async () => {
      const [runtime] = await kit.runtimes();
      assert.match(runtime.id, /^odd x{120}-é\/\.\.%2f$/);
      assert.deepEqual([runtime.name, runtime.reflectionApiSpecVersion], [undefined, 1]);
      const { json } = await kit.post('/api/v1/run', { key: '/flow/echo', input: 1, runtimeId: runtime.id });
      assert.equal(json.result, 1);
      const printed = await kit.succeed(['flow', 'run', 'echo', '2', '--runtime', runtime.id, '--json']);
      assert.equal(printed.json.result, 2);
    },
    'all its actions are listed': async () => {
      const { actions } = (await kit.succeed(['action', 'list', '--json'])).json;
      assert.equal(Object.keys(actions).length, 9, Object.keys(actions).join());
      assert.deepEqual(actions['/tool/with/ÿ slash'].name, 'with/ÿ slash');
      assert.equal('description' in actions['/flow/chunks'], false);
      assert.equal(actions['/flow/echo'].outputSchema.maximum, 10);
      const official = (await kit.get('/api/listActions')).json.result.data;
      assert.equal(Object.keys(official).length, 9);
    },
    'values are listed, and unknown ones refused': async () => {
      const list = (type) => kit.get(`/api/listValues?input=${encodeURIComponent(JSON.stringify({ type }))}`);
      assert.equal((await list('defaultModel')).json.result.data.defaultModel.name, 'odd');
      assert.ok((await list('nothing')).status >= 400);
    },
    'results are passed on whole': async () => {
      for (const input of [null, 0, 1.5, '', 'é\r\n', [], { a: { b: [null, 1] } }]) {
        const { status, json, traceId } = await kit.run('/flow/echo', input);
        assert.deepEqual([status, json.result ?? null], [200, input]);
        assert.match(traceId, HEX32);
      }
    },
    'no result is a result': async () => {
      assert.equal((await kit.run('/flow/nothing')).status, 200);
    },
    'chunks are passed on whole, one in each event': async () => {
      const { chunks, end } = await kit.stream('/flow/chunks');
      assert.deepEqual(chunks, [1, 'two\r\nlines', null, { three: [3] }]);
      assert.equal(end.data.result, 'all');
    },
    'chunks are passed on whole, one in each line': async () => {
      const { text } = await kit.post('/api/streamAction', { key: '/flow/chunks' });
      const lines = text.split('\n').map((line) => JSON.parse(line));
      assert.deepEqual(lines.slice(0, 4), [1, 'two\r\nlines', null, { three: [3] }]);
      assert.equal(lines[4].result, 'all');
      const printed = await kit.succeed(['flow', 'run', 'chunks', '-s', '--json']);
      assert.deepEqual(printed.lines.slice(0, 4).map(({ chunk }) => chunk), [1, 'two\r\nlines', null, { three: [3] }]);
    },
    'a chunk before the state and a second state do no harm': async () => {
      const { chunks, end } = await kit.stream('/flow/early');
      assert.deepEqual([chunks, end.data.result], [['before the state'], 'late']);
    },
    'a run is cancelled': async () => {
      const [run, known] = traced((onTrace) => kit.stream('/flow/wait', 1, { onTrace }));
      const traceId = await known;
      assert.equal((await kit.post(`/api/v1/runs/${traceId}/cancel`)).status, 200);
      assert.equal((await run).end.data.status, 'CANCELLED');
    },
    'an unknown action is not found': async () => {
      assert.equal((await kit.run('/flow/missing')).status, 404);
    },
    'metrics are taken': async () => {
      assert.equal((await posted('metrics')).json.result.status, 200);
    },
    'log lines are with their trace': async () => {
      for (const kind of ['otlp, logs', 'otlp, logs and spans']) {
        const { json, traceId } = await posted(kind);
        assert.equal(json.result.status, 200, JSON.stringify(json));
        const { logs } = (await kit.get(`/api/v1/logs?traceId=${traceId}`)).json;
        assert.deepEqual(logs.map(({ body, severityText }) => [body, severityText]), [['an odd line', 'INFO']], kind);
        assert.equal(logs[0].attributes['oxikit:unverified'], undefined);
      }
    },
    'what is wrong is refused with a reason': async () => {
      for (const kind of ['bad, native', 'bad, otlp']) {
        const { result } = (await posted(kind)).json;
        assert.equal(result.status, 400, JSON.stringify(result));
        assert.match(JSON.parse(result.text).message, /7/);
      }
    },
  };
  for (const kind of ['whole', 'no details', 'no data', 'no code']) {
    all[`a failure is told: ${kind}`] = async () => {
      const { error } = (await kit.run('/flow/fail', kind)).json;
      assert.match(error.message, /no/);
      if (kind !== 'no data' && kind !== 'no code') assert.equal(error.code, 7);
      assert.equal((await kit.stream('/flow/fail', kind)).end.event, 'error');
    };
  }
  for (const kind of ['native', 'native, slashes', 'native, list', 'native, plain lines']) {
    all[`spans are taken: ${kind}`] = async () => {
      const { span } = await stored(kind);
      assert.deepEqual([span.status.code, span.attributes.count], [0, 3]);
    };
  }
  for (const kind of ['otlp, json', 'otlp, protobuf']) {
    all[`spans are taken: ${kind}`] = async () => {
      const { span, traceId } = await stored(kind);
      assert.equal(span.spanKind, 'INTERNAL');
      if (kind === 'otlp, json') assert.deepEqual([span.attributes.count, span.attributes.text], [3, 'é']);
      const shown = (await kit.succeed(['trace', 'show', traceId, '--json'])).json;
      assert.equal(shown.spans.length, 1);
    };
  }
  if (!v1) {
    all['inputs reach a run, and chunks come back'] = async () => {
      const sums = [];
      const answer = await kit.fetch('POST', '/api/streamAction?bidi=true', { key: '/flow/inputs' });
      const traceId = answer.headers.get('x-genkit-trace-id');
      for (const chunk of [1, 2, 3]) assert.equal((await kit.post('/api/sendBidiInput', { traceId, chunk })).status, 200);
      assert.equal((await kit.post('/api/endBidiInput', { traceId })).status, 200);
      for (const line of (await answer.text()).split('\n')) sums.push(JSON.parse(line));
      assert.deepEqual(sums.slice(0, 3), [{ sum: 1 }, { sum: 3 }, { sum: 6 }]);
      assert.equal(sums[3].result, 6);
    };
    all['the official form of a runtime that dialled in has it, too'] = async () => {
      assert.equal((await kit.post('/api/runAction', { key: '/flow/echo', input: 5 })).json.result, 5);
    };
  }
  return Object.fromEntries(Object.entries(all).map(([name, run]) => [`odd ${mode}: ${name}`, run]));
}

for (const [mode, env] of [['v2', {}], ['v1', {}], ['v2, token dropped', { ODD_TOKEN: 'dropped' }]]) {
  const kit = new Oxikit(path.resolve(scratch, mode.replaceAll(/\W+/g, '-')), program);
  try {
    await kit.startTools({ v1: mode === 'v1', app, env, flags: ['--strict'] });
    await runCases(cases(kit, mode), 1, 10_000);
    await kit.stopTools();
  } finally {
    kit.killAll();
  }
}
process.exit();
