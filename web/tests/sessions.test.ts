import assert from 'node:assert/strict';
import { test } from 'node:test';

import { effectsOf } from '../src/sessions/effects';
import { canRestart, resumeOf, waitingIn } from '../src/sessions/interrupts';
import { NOTHING, taken } from '../src/sessions/live';
import { filtered, merged, statusOf, traceOf } from '../src/sessions/rows';
import { shortJson } from '../src/sessions/short_json';
import { pathTo, rowsOf, tipOf } from '../src/sessions/tree';
import { readOnlyTools } from '../src/state/tool_effects';
import { inputOf, itemsOf, turnsOf } from '../src/sessions/turns';
import type { Message, Session, SnapshotInfo } from '../src/sessions/types';

/** A snapshot `b` that continued from `a`, with so many messages. */
function snapshot(snapshotId: string, parentId: string | null, messageCount = 0): SnapshotInfo {
  return { snapshotId, parentId, status: 'completed', finishReason: 'stop', createdAt: 0, messageCount, children: [] };
}

const user = (text: string): Message => ({ role: 'user', content: [{ text }] });
const model = (text: string): Message => ({ role: 'model', content: [{ text }] });
const asks = (name: string, ref: string, metadata = {}): Message => ({
  role: 'model',
  content: [{ toolRequest: { name, ref, input: { of: ref } }, metadata }],
});
const answers = (name: string, ref: string, output: unknown): Message => ({
  role: 'tool',
  content: [{ toolResponse: { name, ref, output } }],
});

test('branches of a session get lanes and letters', () => {
  const snapshots = [snapshot('a', null), snapshot('b', 'a'), snapshot('c', 'b'), snapshot('d', 'a'), snapshot('e', 'd'), snapshot('f', 'b')];
  const rows = rowsOf(snapshots).map(({ snapshot: { snapshotId }, turn, branch, lane }) => `${snapshotId}${turn}${branch}${lane}`);
  assert.deepEqual(rows, ['a10', 'b20', 'c30', 'd2B1', 'e3B1', 'f3C2']);
  assert.deepEqual(pathTo(snapshots, 'e').map(({ snapshotId }) => snapshotId), ['a', 'd', 'e']);
  assert.equal(tipOf(snapshots, 'b'), 'f');
  assert.equal(tipOf(snapshots, 'd'), 'e');
});

test('a snapshot that names itself as its parent does not end the page', () => {
  const snapshots = [snapshot('a', 'a'), snapshot('b', 'a')];
  assert.deepEqual(pathTo(snapshots, 'b').map(({ snapshotId }) => snapshotId), ['a', 'b']);
  assert.equal(rowsOf(snapshots)[0]?.parent, null);
});

test('messages are cut at the ends of turns', () => {
  const messages = [user('one'), model('1'), user('two'), model('2')];
  const path = [snapshot('a', null, 2), snapshot('b', 'a', 4)];
  assert.deepEqual(turnsOf(path, messages).map((turn) => inputOf(turn.messages)), ['one', 'two']);
});

test('a shortened history belongs to the last turn', () => {
  const path = [snapshot('a', null, 8), snapshot('b', 'a', 2)];
  const turns = turnsOf(path, [user('two'), model('2')]);
  assert.deepEqual(turns.map((turn) => turn.messages.length), [0, 2]);
});

test('a turn in the background has no messages yet', () => {
  const path = [snapshot('a', null, 2), { ...snapshot('b', 'a', 0), status: 'pending' as const }];
  assert.deepEqual(turnsOf(path, [user('one'), model('1')]).map((turn) => turn.messages.length), [2, 0]);
});

test('a tool call is shown with its response', () => {
  const items = itemsOf([user('x'), asks('order', '1'), asks('order', '2'), answers('order', '2', 'b'), answers('order', '1', 'a'), model('done')]);
  const calls = items.flatMap((item) => (item.kind === 'call' ? [`${item.call.ref}=${String(item.call.output)}`] : []));
  assert.deepEqual(calls, ['1=a', '2=b']);
  assert.deepEqual(items.map(({ kind }) => kind), ['user', 'call', 'call', 'text']);
});

test('waiting tools are found with their questions', () => {
  const messages = [user('x'), asks('pay', '1', { interrupt: { question: 'Really?', limit: 3 } })];
  const [one] = waitingIn(messages);
  assert.equal(one?.question, 'Really?');
  assert.deepEqual(one?.about, { limit: 3 });
  assert.deepEqual(waitingIn([user('x'), asks('pay', '1', { resolvedInterrupt: true })]), []);
  assert.equal(waitingIn([user('x'), asks('pay', '1', { interrupt: true })])[0]?.question, '');
});

test('answers and restarts become one input', () => {
  const both = waitingIn([
    { role: 'model', content: [...asks('pay', '1', { interrupt: true }).content, ...asks('ask', '2', { interrupt: true }).content] },
  ]);
  const [pay, ask] = both;
  assert.ok(pay && ask);
  assert.deepEqual(resumeOf([[pay, { kind: 'respond', output: 0 }], [ask, { kind: 'restart', resumed: true }]]), {
    resume: {
      respond: [{ toolResponse: { name: 'pay', ref: '1', output: 0 } }],
      restart: [{ toolRequest: { name: 'ask', ref: '2', input: { of: '2' } }, metadata: { resumed: true } }],
    },
  });
  assert.equal(canRestart({ tool: { restartable: false } }), false);
  assert.equal(canRestart(undefined), true);
});

test('chunks of a stream become messages', () => {
  const chunk = (role: string, index: number | undefined, part: unknown): unknown => ({ chunk: { role, index, content: [part] } });
  let state = NOTHING;
  state = taken(state, 'chunk', chunk('model', 0, { text: 'Hel' }));
  state = taken(state, 'chunk', chunk('model', 0, { text: 'lo' }));
  state = taken(state, 'chunk', chunk('tool', 1, { toolResponse: { name: 't', output: 1 } }));
  state = taken(state, 'artifact', { artifact: { name: 'a', parts: [{ text: '1' }] } });
  state = taken(state, 'artifact', { artifact: { name: 'a', parts: [{ text: '2' }] } });
  state = taken(state, 'unknown', {});
  assert.deepEqual(state.messages.map(({ role, content }) => [role, content[0]?.text]), [['model', 'Hello'], ['tool', undefined]]);
  assert.equal(state.artifacts[0]?.parts[0]?.text, '2');
  state = taken(state, 'done', { finishReason: 'failed', error: { message: 'no' } });
  assert.equal(state.failure?.message, 'no');
});

test('the end of an interrupted stream marks the request that waits', () => {
  let state = NOTHING;
  const request = { toolRequest: { name: 'pay', ref: '1', input: 1 } };
  state = taken(state, 'chunk', { chunk: { role: 'model', index: 0, content: [request] } });
  state = taken(state, 'chunk', { chunk: { role: 'tool', content: [{ ...request, metadata: { interrupt: { question: 'Pay?' } } }] } });
  const items = itemsOf(state.messages);
  assert.equal(items.length, 1);
  assert.deepEqual(items[0]?.kind === 'call' && items[0].call.interrupt, { question: 'Pay?' });
});

function session(sessionId: string, more: Partial<Session> = {}): Session {
  return { sessionId, agentName: 'tea', createdAt: 0, updatedAt: 0, status: 'completed', metadata: {}, ...more };
}

test('a session waits, runs, failed, was stopped or ended', () => {
  assert.equal(statusOf(session('a', { finishReason: 'interrupted', snapshotStatus: 'completed' })), 'waits');
  assert.equal(statusOf(session('a', { snapshotStatus: 'pending' })), 'running');
  assert.equal(statusOf(session('a', { snapshotStatus: 'failed' })), 'failed');
  assert.equal(statusOf(session('a', { snapshotStatus: 'aborted' })), 'stopped');
  assert.equal(statusOf(session('a', { status: 'active' })), 'running');
  assert.equal(statusOf({ ...snapshot('a', null), finishReason: 'interrupted', children: ['b'] }), 'ended');
});

test('a list that is read keeps its order and counts what is new', () => {
  const shown = [session('a'), session('b'), session('c')];
  const fresh = [session('d'), session('b', { messageCount: 4 }), session('a')];
  const held = merged(shown, fresh, false);
  assert.deepEqual(held.sessions.map(({ sessionId }) => sessionId), ['a', 'b']);
  assert.equal(held.sessions[1]?.messageCount, 4);
  assert.equal(held.held, 1);
  assert.deepEqual(merged(shown, fresh, true).sessions.map(({ sessionId }) => sessionId), ['d', 'b', 'a']);
});

test('sessions are found by text, id, agent and status', () => {
  const all = [session('abc'), session('def', { finishReason: 'interrupted' }), session('ghi', { agentName: 'other' })];
  const find = (text: string, agent = '', status = ''): string[] =>
    filtered(all, { text, agent, status }, new Map([['tea/abc', 'Green tea']]), new Set(['ghi'])).map(({ sessionId }) => sessionId);
  assert.deepEqual(find('green'), ['abc', 'ghi']);
  assert.deepEqual(find('', 'tea'), ['abc', 'def']);
  assert.deepEqual(find('', '', 'waits'), ['def']);
});

test('a turn belongs to the trace in whose time its snapshot was written', () => {
  const trace = (traceId: string, startTime: number, endTime: number): never =>
    ({ traceId, startTime, endTime }) as never;
  const traces = [trace('late', 20.5, 25.2), trace('early', 10.9, 15.1)];
  assert.equal(traceOf({ ...snapshot('a', null), createdAt: 16 }, traces)?.traceId, 'early');
  assert.equal(traceOf({ ...snapshot('a', null), createdAt: 20 }, traces)?.traceId, 'late');
  assert.equal(traceOf({ ...snapshot('a', null), createdAt: 18 }, traces), null);
});

test('a fork names the tools that it does not undo', () => {
  const messages = [user('1'), asks('order', '1'), answers('order', '1', 1), user('2'), asks('order', '2'), answers('order', '2', 2), asks('pay', '3', { interrupt: true })];
  const effects = effectsOf(messages, 3, () => false);
  assert.deepEqual(effects, { before: [{ name: 'order', times: 1 }], after: [{ name: 'order', times: 1 }], waiting: ['pay'] });
  assert.deepEqual(effectsOf(messages, 3, () => true).before, []);
});

test('a value in one line is short', () => {
  assert.equal(shortJson({ item: 'green tea', 'a-b': [1, null] }), '{item: "green tea", "a-b": [1, null]}');
  assert.equal(shortJson('x'.repeat(500)).length <= 160, true);
});

test('a tool counts as writing unless it says that it only reads', () => {
  const tool = (key: string, metadata?: Record<string, unknown>) => ({ key, name: key.split('/')[2] ?? '', ...(metadata && { metadata }) });
  const actions = [
    tool('/tool/weather', { tool: { readOnly: true } }),
    tool('/tool/search', { mcp: { readOnlyHint: true } }),
    tool('/tool/pay', { tool: { readOnly: 'yes' } }),
    tool('/tool/order'),
    tool('/flow/odd', { tool: { readOnly: true } }),
  ];
  assert.deepEqual([...readOnlyTools(actions)], ['weather', 'search']);
});
