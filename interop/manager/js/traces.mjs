// The traces and log lines of what ran, wherever they are asked for.

import assert from 'node:assert/strict';
import { until } from '../../reflection/js/tools.mjs';
import { traced } from './cases.mjs';
import { allEvents, eventsOf } from './oxikit.mjs';

export const traceCases = (kit) => ({
  'traces: of a flow': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Tess' });
    const { trace, spans } = await whole(kit, traceId, 2);
    assert.deepEqual([trace.name, trace.type, trace.status, trace.spans], ['greet', 'flow', 'success', 2]);
    assert.ok(trace.endTime >= trace.startTime && trace.duration >= 0);
    const paths = spans.map(({ span }) => span.attributes['genkit:path']).sort();
    assert.deepEqual(paths, ['/{greet,t:flow}', '/{greet,t:flow}/{compose,t:flowStep}']);
    const root = spans.find(({ spanId }) => spanId === trace.rootSpanId).span;
    assert.equal(root.attributes['genkit:input'], '{"name":"Tess"}');
    assert.equal(root.attributes['genkit:output'], '{"text":"Hi Tess"}');
  },
  'traces: of a flow with a model and a tool, with its tokens': async () => {
    const { traceId, json } = await kit.run('/flow/genFlow', 'use-tool');
    assert.equal(json.result, 'tool said 5');
    const { trace, spans } = await whole(kit, traceId, 5);
    const kinds = spans.map(({ span }) => span.attributes['genkit:metadata:subtype'] ?? span.attributes['genkit:type']);
    for (const kind of ['flow', 'util', 'model', 'tool']) assert.ok(kinds.includes(kind), kinds.join());
    assert.deepEqual([trace.usage.inputTokens, trace.usage.outputTokens, trace.usage.totalTokens], [3, 4, 7]);
  },
  'traces: of a run that failed': async () => {
    const { traceId } = await kit.run('/flow/boom', 1);
    const { trace, spans } = await whole(kit, traceId);
    assert.equal(trace.status, 'error');
    assert.deepEqual(spans[0].span.status, { code: 2, message: 'kaboom' });
  },
  'traces: of a stream, a tool, a prompt that is run, an evaluator': async () => {
    const streamed = await kit.stream('/flow/countdown', 2);
    const tool = await kit.run('/tool/add', { a: 1, b: 2 });
    const prompt = await kit.run('/executable-prompt/hello', { who: 'B' });
    const dataset = [{ input: 'a', output: 'abc', testCaseId: 'c1' }];
    const evaluator = await kit.run('/evaluator/lengthEval', { dataset, evalRunId: 'e1' });
    const kinds = { flow: streamed, tool, 'executable-prompt': prompt, evaluator };
    for (const [kind, { traceId }] of Object.entries(kinds)) {
      const { trace } = await whole(kit, traceId);
      assert.deepEqual([trace.type, trace.status], [kind, 'success']);
    }
  },
  'traces: of a run that was cancelled': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { onTrace }));
    const traceId = await begun(kit, await known);
    const { json } = await kit.get(`/api/v1/traces/${traceId}`);
    assert.equal(json.trace.status, 'running');
    await kit.post(`/api/v1/runs/${traceId}/cancel`);
    await run;
    assert.equal((await whole(kit, traceId)).trace.status, 'error');
  },
  'traces: of a turn, found by its session': async () => {
    const { json } = await kit.post('/api/agents/storeAgent/execute', { input: 'find me' });
    const { sessionId } = json.result;
    const { traceId } = json.telemetry;
    const again = await kit.post('/api/agents/storeAgent/execute', { input: 'again', init: { sessionId } });
    for (const { telemetry } of [json, again.json]) await whole(kit, telemetry.traceId);
    const found = await ids(kit, `session=${sessionId}`);
    assert.deepEqual(found, [again.json.telemetry.traceId, traceId]);
    assert.equal((await whole(kit, traceId)).trace.type, 'agent');
    const { traces } = (await kit.succeed(['trace', 'list', '--session', sessionId, '--json'])).json;
    assert.deepEqual(traces.map((trace) => trace.traceId), found);
    const exported = (await kit.get(`/api/v1/traces/export?session=${sessionId}`)).json;
    assert.deepEqual([exported.sessionId, exported.traces.length], [sessionId, 2]);
  },
  'traces: by name, type, status, time, duration, text and label': async () => {
    const before = Date.now();
    const labels = { telemetryLabels: { 'genkitx:lot': 'seven' } };
    const { traceId } = await kit.run('/flow/greet', { name: 'Zanzibar' }, labels);
    const failed = (await kit.run('/flow/denied', 'Zanzibar')).traceId;
    for (const id of [traceId, failed]) await whole(kit, id);
    const only = async (query, expected) => assert.deepEqual(await ids(kit, query), expected, query);
    await only(`from=${before}&name=greet`, [traceId]);
    await only(`from=${before}&type=flow&status=error`, [failed]);
    await only(`from=${before}&to=${before + 60_000}&status=success`, [traceId]);
    await only('text=zanzibar', [failed, traceId]);
    await only('text=zanzi*&status=success', [traceId]);
    await only('attribute=genkitx:lot=seven', [traceId]);
    await only(`from=${before}&minDuration=60000`, []);
    const [page] = await ids(kit, 'limit=1');
    assert.equal(page, failed);
    assert.equal((await kit.get('/api/v1/traces?nmae=x')).status, 400);
    const listed = await kit.succeed(['trace', 'list', '--text', 'zanzibar', '--status', 'error', '--json']);
    assert.deepEqual(listed.json.traces.map((trace) => trace.traceId), [failed]);
  },
  'traces: page by page': async () => {
    for (const name of ['P1', 'P2', 'P3']) await whole(kit, (await kit.run('/flow/greet', { name })).traceId);
    const first = (await kit.get('/api/v1/traces?limit=2')).json;
    const second = (await kit.get(`/api/v1/traces?limit=1&continuationToken=${encodeURIComponent(first.continuationToken)}`)).json;
    const all = await ids(kit, 'limit=3');
    assert.deepEqual([...first.traces, ...second.traces].map(({ traceId }) => traceId), all);
  },
  'traces: shown as a tree': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Tree' });
    await whole(kit, traceId, 2);
    const { stdout } = await kit.succeed(['trace', 'show', traceId]);
    const shown = stdout.replace(/[\d.]+ [mµ]s/g, 'TIME').split('\n');
    assert.deepEqual(shown, [
      'greet flow TIME',
      '    input: {"name":"Tree"}',
      '    output: {"text":"Hi Tree"}',
      '  compose flowStep TIME',
      '      output: {"text":"Hi Tree"}',
      '',
    ]);
    const { json } = await kit.succeed(['trace:get', traceId, '--json']);
    assert.deepEqual([json.trace.traceId, json.spans.length], [traceId, 2]);
    assert.equal((await kit.succeed(['trace', 'show', 'latest', '--json'])).json.trace.traceId, traceId);
    assert.match((await kit.succeed(['trace:list', '--limit', '1'])).stdout, new RegExp(`greet .*${traceId}`));
  },
  'traces: a file of one, without its secrets': async () => {
    const { traceId } = await kit.run('/flow/noSchema', { password: 'hunter2-hunter2', city: 'Lisbon' });
    await whole(kit, traceId);
    const { status, text } = await kit.get(`/api/v1/traces/${traceId}/export`);
    assert.equal(status, 200);
    assert.ok(text.includes('Lisbon') && !text.includes('hunter2'), text);
    assert.equal(JSON.parse(text).traceId, traceId);
  },
  'traces: one is removed': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Gone' });
    await whole(kit, traceId);
    assert.equal((await kit.call('DELETE', `/api/v1/traces/${traceId}`, {})).status, 200);
    assert.equal((await kit.get(`/api/v1/traces/${traceId}`)).status, 404);
  },
  'logs: of a trace': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Logan' });
    const line = await until('the line', async () => {
      const { logs } = (await kit.get(`/api/v1/logs?traceId=${traceId}`)).json;
      return logs[0];
    }, 5_000);
    assert.deepEqual([line.body, line.severityText, line.traceId], ['greeting Logan', 'INFO', traceId]);
    const { logs } = (await kit.get(`/api/v1/logs?traceId=${traceId}&minSeverity=13`)).json;
    assert.deepEqual(logs, []);
  },
  'live: all spans as they come': async () => {
    const ended = [];
    const started = [];
    const controller = new AbortController();
    const answer = await kit.fetch('GET', '/api/v1/traces/events', undefined, controller.signal);
    const { traceId } = await kit.run('/flow/greet', { name: 'Live' });
    // The posts of the official runtime overtake each other: of a short span its beginning may
    // come last, and is no news then.
    for await (const { data } of eventsOf(answer)) {
      if (data.traceId !== traceId) continue;
      if (data.type === 'span_end') ended.push(data.span.displayName);
      if (ended.length === 2) break;
    }
    assert.deepEqual(ended.sort(), ['compose', 'greet']);
    const long = await kit.fetch('GET', '/api/v1/traces/events', undefined, controller.signal);
    const slow = kit.run('/flow/slow', 400);
    for await (const { data } of eventsOf(long)) {
      if (data.span?.displayName === 'slow') started.push(data.type);
      if (data.type === 'span_end' && data.span.displayName === 'slow') break;
    }
    controller.abort();
    await slow;
    assert.deepEqual([started.length > 1, started.at(-1)], [true, 'span_end']);
  },
  'live: one trace, until its root has ended': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 400, { onTrace }));
    const answer = await kit.fetch('GET', `/api/v1/traces/${await begun(kit, await known)}/events`);
    const types = (await allEvents(answer)).map(({ data }) => data.type);
    assert.equal((await run).end.data.result, 'done');
    assert.deepEqual([types[0], types.at(-1)], ['trace', 'end']);
    assert.ok(types.includes('span_end'), types.join());
  },
  'live: the official stream of a trace': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 400, { onTrace }));
    const traceId = await begun(kit, await known);
    const { status, text } = await kit.post('/api/streamTrace', { traceId });
    await run;
    const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
    assert.equal(status, 200);
    assert.deepEqual([lines[0].traceId, lines[0].displayName, lines[0].endTime], [traceId, 'slow', 0]);
    assert.deepEqual([lines.at(-1).type, lines.at(-1).span.displayName], ['span_end', 'slow']);
  },
});

/**
 * The trace, once so many spans are there and all have ended: the official runtime
 * answers before, and its posts overtake each other.
 */
async function whole(kit, traceId, count = 1) {
  return until(`the end of ${traceId}`, async () => {
    const { status, json } = await kit.get(`/api/v1/traces/${traceId}`);
    if (status !== 200 || json.trace.status === 'running' || json.spans.length < count) return;
    return json.spans.every(({ span }) => span.endTime > 0) && json;
  }, 5_000);
}

/** Until the tools know that it runs. */
async function begun(kit, traceId) {
  await until(`the beginning of ${traceId}`, async () => (await kit.get(`/api/v1/traces/${traceId}`)).status === 200, 5_000);
  return traceId;
}

async function ids(kit, query) {
  const { json } = await kit.get(`/api/v1/traces?${query}`);
  return json.traces.map(({ traceId }) => traceId);
}
