// Runs through our own API.

import assert from 'node:assert/strict';
import { until } from '../../reflection/js/tools.mjs';
import { HEX32, traced } from './cases.mjs';
import { eventsOf } from './oxikit.mjs';

export const apiCases = (kit) => ({
  'api: the runtime is the application': async () => {
    const { runtimes, current } = (await kit.get('/api/v1/runtimes')).json;
    assert.deepEqual([runtimes.length, runtimes[0].id], [1, current]);
    assert.equal(runtimes[0].genkitVersion, 'nodejs/1.42.0');
    assert.match(runtimes[0].reflectionServerUrl, kit.v1 ? /^http:\/\/[^/]+$/ : /^ws:\/\/[^/]+$/);
    const app = (await kit.get('/api/v1/app')).json;
    assert.deepEqual([app.state, app.pid], ['running', runtimes[0].pid]);
  },
  'api: actions and values': async () => {
    const { actions, skipped } = (await kit.get('/api/v1/actions')).json;
    for (const key of ['/flow/greet', '/model/echo/model', '/tool/add', '/agent/storeAgent', '/evaluator/lengthEval']) {
      assert.equal(actions[key]?.key, key);
    }
    assert.deepEqual(skipped, []);
    const greet = (await kit.get('/api/v1/actions/flow/greet')).json;
    assert.deepEqual(greet, actions['/flow/greet']);
    assert.equal(greet.inputSchema.properties.name.type, 'string');
    const model = (await kit.get('/api/v1/values/defaultModel')).json;
    assert.deepEqual(model, { defaultModel: { name: 'echo/model' } });
    assert.equal((await kit.get('/api/v1/values/middleware')).json.shout.name, 'shout');
    assert.equal((await kit.get('/api/v1/values/prompt')).status, 400);
  },
  'api: run': async () => {
    const answer = await kit.run('/flow/greet', { name: 'Ada' });
    assert.equal(answer.status, 200);
    assert.match(answer.traceId, HEX32);
    assert.deepEqual(answer.json, { result: { text: 'Hi Ada' }, telemetry: { traceId: answer.traceId } });
  },
  'api: run with context and without input': async () => {
    const known = await kit.run('/flow/greet', { name: 'Ada' }, { context: { auth: { uid: 'u' } } });
    assert.equal(known.json.result.text, 'Hi Ada (auth)');
    assert.deepEqual((await kit.run('/flow/noSchema')).json.result, { got: 'undefined' });
  },
  'api: a run that fails': async () => {
    const { status, traceId, json } = await kit.run('/flow/boom', 1);
    assert.deepEqual([status, json.error.status, json.error.message], [200, 'INTERNAL', 'kaboom']);
    assert.equal(json.error.details.traceId, traceId);
    const denied = (await kit.run('/flow/denied', 1)).json.error;
    assert.deepEqual([denied.code, denied.status], [7, 'PERMISSION_DENIED']);
  },
  'api: an unknown action, an unknown runtime, an input that does not fit': async () => {
    const unknown = await kit.run('/flow/nope', 1);
    assert.deepEqual([unknown.status, unknown.json.status], [404, 'NOT_FOUND']);
    assert.match(unknown.json.message, /\/flow\/nope/);
    const nobody = await kit.run('/flow/greet', { name: 'A' }, { runtimeId: 'nobody' });
    assert.deepEqual([nobody.status, nobody.json.status], [404, 'NOT_FOUND']);
    const bad = await kit.run('/flow/greet', { name: 5 });
    // The official V1 runtime calls it its own fault.
    assert.deepEqual([bad.status, bad.json.status], kit.v1 ? [500, 'INTERNAL'] : [400, 'INVALID_ARGUMENT']);
    assert.match(bad.json.message, /INVALID_ARGUMENT/);
  },
  'api: stream': async () => {
    const { status, type, traceId, events, chunks, end } = await kit.stream('/flow/countdown', 3);
    assert.deepEqual([status, type], [200, 'text/event-stream']);
    assert.deepEqual(events[0], { event: 'state', data: { traceId } });
    assert.deepEqual(chunks, [3, 2, 1]);
    assert.deepEqual([end.event, end.data.result, end.data.telemetry.traceId], ['done', 'liftoff', traceId]);
    assert.deepEqual(events.slice(1).map(({ id }) => id), ['1', '2', '3', '4']);
  },
  'api: a stream that fails after a chunk': async () => {
    const { chunks, end } = await kit.stream('/flow/boomStream', 1);
    assert.deepEqual(chunks, ['one']);
    assert.deepEqual([end.event, end.data.status], ['error', 'INTERNAL']);
  },
  'api: cancel': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 20_000, { onTrace }));
    const traceId = await known;
    const answer = await kit.post(`/api/v1/runs/${traceId}/cancel`);
    assert.deepEqual([answer.status, answer.json], [200, { message: 'Action cancelled' }]);
    const { end } = await run;
    assert.deepEqual([end.event, end.data.status, end.data.message], ['error', 'CANCELLED', 'Action was cancelled']);
    assert.equal((await kit.post(`/api/v1/runs/${'f'.repeat(32)}/cancel`)).status, 404);
  },
  'api: who hangs up cancels the run': async () => {
    const controller = new AbortController();
    const answer = await kit.fetch('POST', '/api/v1/stream', { key: '/flow/slow', input: 20_000 }, controller.signal);
    const traceId = answer.headers.get('x-genkit-trace-id');
    controller.abort();
    await until('its end', async () => {
      const { json } = await kit.get(`/api/v1/traces/${traceId}`);
      return json.trace?.status === 'error';
    }, 3_000);
  },
  ...(kit.v1 ? onlyV1(kit) : onlyV2(kit)),
  'api: the list of runtimes as events': async () => {
    const controller = new AbortController();
    const answer = await kit.fetch('GET', '/api/v1/runtimes/events', undefined, controller.signal);
    const { value } = await eventsOf(answer).next();
    controller.abort();
    assert.equal(value.event, 'runtimes');
    assert.equal(value.data.current, kit.own.id);
  },
});

const onlyV2 = (kit) => ({
  'api: inputs while it runs': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/bidiEcho', undefined, { query: '?bidi=true', init: { prefix: '> ' }, onTrace }));
    const path = `/api/v1/runs/${await known}`;
    for (const text of ['one', 'two']) assert.equal((await kit.post(`${path}/input`, text)).status, 200);
    assert.equal((await kit.post(`${path}/end-input`)).status, 200);
    const { chunks, end } = await run;
    assert.deepEqual([chunks, end.data.result], [['> ONE', '> TWO'], { count: 2 }]);
    assert.equal((await kit.post(`${path}/input`, 'late')).status, 404);
  },
});

const onlyV1 = (kit) => ({
  'api: inputs while it runs are not possible, and that is said': async () => {
    const [run, known] = traced((onTrace) => kit.stream('/flow/slow', 300, { query: '?bidi=true', onTrace }));
    const outcome = await Promise.race([known, run]);
    assert.equal(typeof outcome, 'object', 'it has begun');
    assert.deepEqual([outcome.status, outcome.json.status], [400, 'FAILED_PRECONDITION']);
  },
});
