import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  aboutInput,
  contextOf,
  emptyDraft,
  forgetSaved,
  labelsOf,
  MAX_ACTIONS,
  MAX_INPUT,
  MAX_PAST,
  readCalls,
  readDraft,
  rememberCall,
  saveCall,
  timeoutOf,
  writeDraft,
  type PastCall,
} from '../src/actions/call';
import { comparedOf } from '../src/actions/compare';
import { commandOf, curlOf, formsOf, javascriptOf, rustOf } from '../src/actions/copy_as';
import { actionPath, filterRows, keyOfPlace, rowsOf } from '../src/actions/keys';
import { configSchema, docTexts, hiddenMembers, isRequest, nextRole, toolOf, withDocs } from '../src/actions/model_request';
import { costText, failureOf, readResult, usageOf } from '../src/actions/results';
import { addChunk, pauseBetween, ticksOf } from '../src/actions/stream_text';

class Memory {
  readonly all = new Map<string, string>();
  getItem = (name: string): string | null => this.all.get(name) ?? null;
  setItem = (name: string, value: string): void => void this.all.set(name, value);
  removeItem = (name: string): void => void this.all.delete(name);
}

const past = (input: string, at = 1): PastCall => ({ at, input, status: 'done', milliseconds: 1, traceId: null });

test('the key of an action and its place are the same thing', () => {
  for (const key of ['/flow/hello', '/model/offline/demo', '/tool/a b', '/odd//name', '/flow/']) {
    assert.equal(keyOfPlace(actionPath(key).slice(1)), key);
  }
  assert.deepEqual(actionPath('/model/offline/demo'), ['actions', 'model', 'offline', 'demo']);
  assert.equal(keyOfPlace([]), null);
});

test('actions are in groups, and helpers are hidden until they are wanted', () => {
  const keys = ['/util/generate', '/tool.v2/order', '/tool/order', '/tool.v2/alone', '/prompt/joke', '/executable-prompt/joke', '/flow/b', '/flow/a', '/agent/shop', '/executable-prompt/shop', '/agent-abort/shop', '/evaluator/x'];
  const rows = rowsOf(Object.fromEntries(keys.map((key) => [key, { key, name: key }])));
  const shown = (query: string, kind = '', all = false): string[] => filterRows(rows, query, kind, all).map((row) => row.key);
  assert.deepEqual(shown(''), ['/flow/a', '/flow/b', '/tool.v2/alone', '/tool/order', '/executable-prompt/joke', '/agent/shop', '/evaluator/x']);
  assert.equal(shown('', '', true).length, keys.length);
  assert.deepEqual(shown('OR tool'), ['/tool/order']);
  assert.deepEqual(shown('', 'flow'), ['/flow/a', '/flow/b']);
  assert.deepEqual(shown('', 'evaluator'), ['/evaluator/x']);
});

test('the history of inputs is bounded and keeps each input once', () => {
  const store = new Memory();
  for (let at = 0; at < MAX_PAST + 5; at += 1) rememberCall(store, '/flow/a', past(`"${at}"`, at));
  rememberCall(store, '/flow/a', past('"7"', 99));
  const calls = readCalls(store, '/flow/a');
  assert.equal(calls.past.length, MAX_PAST);
  assert.deepEqual([calls.past[0]?.input, calls.past.filter(({ input }) => input === '"7"').length], ['"7"', 1]);
  assert.equal(rememberCall(store, '/flow/a', past('x'.repeat(MAX_INPUT + 1))).past.length, MAX_PAST);
  saveCall(store, '/flow/a', { ...emptyDraft(), name: 'mine', input: '1' });
  for (let at = 0; at < MAX_ACTIONS + 3; at += 1) rememberCall(store, `/flow/other${at}`, past('1'));
  assert.deepEqual(readCalls(store, '/flow/a'), { past: [], saved: [{ name: 'mine', input: '1', context: '', labels: [], timeout: '' }] });
  assert.equal(readCalls(store, '/flow/other0').past.length, 0);
  assert.equal(forgetSaved(store, '/flow/a', 'mine').saved.length, 0);
  assert.equal(store.getItem('oxikit.calls./flow/a'), null);
});

test('broken or foreign storage is no error', () => {
  const store = new Memory();
  for (const text of ['{', 'null', '[]', '{"past":3,"saved":[{"name":1}],"labels":[1]}']) {
    store.setItem('oxikit.calls./flow/a', text);
    store.setItem('oxikit.calls', text);
    store.setItem('oxikit.draft./flow/a', text);
    assert.deepEqual(readCalls(store, '/flow/a'), { past: [], saved: [] });
    readDraft(store, '/flow/a');
    rememberCall(store, '/flow/a', past('1'));
    assert.equal(readCalls(store, '/flow/a').past.length, 1);
  }
});

test('a draft keeps its text, also if it is not JSON', () => {
  const store = new Memory();
  assert.equal(readDraft(store, '/flow/a'), null);
  const draft = { ...emptyDraft(), text: '{"a": ', value: { a: 1 }, labels: [{ name: 'n', value: 'v' }], timeout: '3' };
  writeDraft(store, '/flow/a', draft);
  assert.deepEqual(readDraft(store, '/flow/a'), draft);
  store.setItem('oxikit.draft./flow/b', '{"value":{"a":1}}');
  assert.equal(readDraft(store, '/flow/b')?.text, '{\n  "a": 1\n}');
});

test('context, labels and timeout are sent only if they are valid', () => {
  assert.deepEqual([contextOf(' '), contextOf('{"a":1}'), contextOf('[1]'), contextOf('{')], [undefined, { a: 1 }, null, null]);
  assert.deepEqual(labelsOf([{ name: ' a ', value: 'b' }, { name: '', value: 'c' }]), { a: 'b' });
  assert.equal(labelsOf([{ name: '', value: 'c' }]), undefined);
  assert.deepEqual(['', '0', '-1', 'x', '1,5', ' 30 '].map(timeoutOf), [null, null, null, null, 1.5, 30]);
});

test('one line tells about an input', () => {
  assert.equal(aboutInput('"Ada\\nLovelace"'), 'Ada Lovelace');
  assert.equal(aboutInput('{"messages":[{"role":"user","content":[{"text":"Which "},{"text":"teas?"}]}]}'), 'Which teas?');
  assert.equal(aboutInput('{"city":"Lisbon"}'), '{"city":"Lisbon"}');
  assert.equal(aboutInput('{broken'), '{broken');
});

test('a call can be copied, and never with a token', () => {
  const call = { key: '/flow/hello', input: "Ada's", context: { uid: '7' }, labels: { team: 'a' }, timeout: 30, runtime: '12' };
  assert.equal(commandOf(call), `oxikit flow run hello '"Ada'\\''s"' -s --context '{"uid":"7"}' --timeout 30 --runtime 12`);
  assert.equal(commandOf({ key: '/model/x/y', input: undefined, timeout: null, runtime: null }, false), 'oxikit action run /model/x/y');
  assert.match(curlOf(call), /Bearer \$OXIKIT_TOKEN/);
  assert.match(curlOf(call), /"telemetryLabels":\{"team":"a"\}/);
  assert.match(javascriptOf(call), /process\.env\.OXIKIT_TOKEN/);
  assert.match(javascriptOf(call), /AbortSignal\.timeout\(30000\)/);
  assert.match(rustOf(call), /\.get\("\/flow\/hello"\)/);
  assert.match(rustOf({ ...call, input: undefined }), /Call::empty\(\)/);
  assert.deepEqual(formsOf(call).map(({ name }) => name), ['oxikit command', 'curl', 'Rust', 'JavaScript']);
});

test('chunks become text, reasoning and other values', () => {
  const streamed = { text: '', reasoning: '', others: [] as unknown[] };
  for (const chunk of ['a', { content: [{ text: 'b' }, { reasoning: 'why' }] }, { modelChunk: { content: [{ text: 'c' }] } }, { step: 1 }, null, 4]) addChunk(streamed, chunk);
  assert.deepEqual(streamed, { text: 'abc', reasoning: 'why', others: [{ step: 1 }, null, 4] });
  assert.deepEqual(ticksOf([0, 1, 500, 1_000], 1_000, 10), [{ at: 0, count: 2 }, { at: 0.5, count: 1 }, { at: 0.9, count: 1 }]);
  assert.equal(ticksOf(Array.from({ length: 10_000 }, (_, at) => at), 10_000).length, 160);
  assert.deepEqual([pauseBetween([]), pauseBetween([5]), pauseBetween([10, 20, 40])], [null, null, 15]);
});

test('a result is shown by its shape', () => {
  const message = { role: 'model', content: [{ text: 'Hi' }] };
  assert.deepEqual(readResult('text').views, ['text', 'json']);
  assert.deepEqual([readResult({ message }).views, readResult({ message }).text], [['text', 'conversation', 'json'], 'Hi']);
  assert.deepEqual(readResult({ messages: [message, message] }).views, ['conversation', 'json']);
  assert.deepEqual(readResult({ candidates: [{ message }] }).text, 'Hi');
  for (const value of [null, 3, [], {}, { message: 'x' }, undefined]) assert.deepEqual(readResult(value).views, ['json']);
  assert.deepEqual(usageOf({ usage: { inputTokens: 2, outputTokens: 3 } }), { input: 2, output: 3, cost: null });
  assert.equal(usageOf({ usage: {} }), null);
  assert.deepEqual([costText(null), costText(0.00123), costText(1.5)], ['–', '$0.0012', '$1.50']);
});

test('an error is shown once, with its causes if there are any', () => {
  assert.deepEqual(failureOf('NOT_FOUND', 'NOT_FOUND: no x', 'NOT_FOUND: no x'), { status: 'NOT_FOUND', message: 'no x', causes: '' });
  assert.deepEqual(failureOf('INTERNAL', 'it broke', 'it broke\n  at main'), { status: 'INTERNAL', message: 'it broke', causes: 'it broke\n  at main' });
});

test('the playground edits only requests, and keeps what it does not know', () => {
  assert.ok(isRequest(undefined) && isRequest({}) && isRequest({ messages: [{ role: 'user', content: [{ text: 'a' }] }] }));
  for (const value of [null, 'x', { messages: 3 }, { messages: [{ content: 'x' }] }, { messages: [null] }]) assert.ok(!isRequest(value));
  assert.deepEqual(hiddenMembers({ messages: [], resume: {}, docs: null }), ['resume']);
  assert.deepEqual([nextRole([]), nextRole([{ role: 'user', content: [] }])], ['user', 'model']);
  const action = { key: '/tool/maps/route', name: 'x', description: 'A way', inputSchema: { type: 'string' } as Record<string, unknown> };
  assert.deepEqual(toolOf(action), { name: 'route', description: 'A way', inputSchema: { type: 'string' }, metadata: { originalName: 'maps/route' } });
  assert.deepEqual(configSchema({ key: '', name: '', metadata: { model: { customOptions: { type: 'object' } } } }), { type: 'object' });
  assert.equal(configSchema({ key: '', name: '', metadata: null }), undefined);
  assert.deepEqual([docTexts({}), docTexts({ docs: withDocs(['a', 'b']) }), docTexts({ docs: [{ content: [{ media: {} }] }] })], [[], ['a', 'b'], null]);
});

test('a comparison is with another model or another runtime', () => {
  assert.equal(comparedOf({}, '/model/a', null), null);
  assert.deepEqual(comparedOf({ with: '/model/b' }, '/model/a', '1'), { key: '/model/b', runtime: '1' });
  assert.deepEqual(comparedOf({ withRuntime: '2' }, '/flow/a', '1'), { key: '/flow/a', runtime: '2' });
});
