import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { SpanData, SpanInfo, TraceInfo } from '../src/api/tools_types';
import { aboutOf } from '../src/traces/about';
import { axisOf, runningLength } from '../src/traces/axis';
import { isDifferent, pairs } from '../src/traces/compare';
import { readTraces } from '../src/traces/file';
import { merge, Rate } from '../src/traces/live';
import { commandWords, completions, filterOf, parseQuery } from '../src/traces/query';
import { failuresOf, spanKind, talkOf } from '../src/traces/spans';
import { barOf, causesOf, treeOf, visibleRows } from '../src/traces/tree';
import { indexOfId } from '../src/ui/row_index';

const NOW = Date.parse('2026-11-18T12:00:00Z');

function trace(traceId: string, more: Partial<TraceInfo> = {}): TraceInfo {
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const known = { name: 'hello', status: 'success' as const, startTime: NOW, duration: 5, rootSpanId: 'r', spans: 1, droppedSpans: 0 };
  return { traceId, ...known, usage, ...more };
}

function span(spanId: string, parentSpanId: string | null, startTime: number, endTime: number, more: Partial<SpanData> = {}): SpanInfo {
  const data: SpanData = {
    spanId,
    traceId: 't',
    ...(parentSpanId && { parentSpanId }),
    startTime,
    endTime,
    attributes: {},
    displayName: spanId,
    links: [],
    instrumentationLibrary: { name: 'x' },
    spanKind: 'INTERNAL',
    ...more,
  };
  return { spanId, span: data };
}

const failed = (message: string): Partial<SpanData> => ({ status: { code: 2, message } });
const model = (input: number, output: number): Partial<SpanData> => ({
  attributes: {
    'genkit:type': 'action',
    'genkit:metadata:subtype': 'model',
    'genkit:output': JSON.stringify({ usage: { inputTokens: input, outputTokens: output } }),
  },
});

test('terms of a query become parameters of the API', () => {
  const query = 'status:error kind:model name:offline/demo duration:>1s "green tea" pot session:s1 runtime:kitchen attribute:a=b attribute:c=d time:1h';
  const filter = filterOf(parseQuery(query), NOW);
  assert.deepEqual(filter.parameters, [
    ['status', 'error'],
    ['type', 'model'],
    ['name', 'offline/demo'],
    ['minDuration', '1000'],
    ['session', 's1'],
    ['runtime', 'kitchen'],
    ['attribute', 'a=b'],
    ['attribute', 'c=d'],
    ['from', String(NOW - 3_600_000)],
    ['text', 'green tea pot*'],
  ]);
  assert.equal(filter.isPartial, false);
});

test('what the API cannot filter is checked for each row', () => {
  const check = (query: string, more: Partial<TraceInfo>): boolean => filterOf(parseQuery(query), NOW).matches(trace('a', more));
  const usage = { inputTokens: 900, outputTokens: 200, totalTokens: 1100 };
  assert.equal(check('tokens:>1000', { usage }), true);
  assert.equal(check('tokens:<1000', { usage }), false);
  assert.equal(check('-kind:agent', { type: 'agent' }), false);
  assert.equal(check('-kind:agent', { type: 'flow' }), true);
  assert.equal(check('name:hel*', {}), true);
  assert.equal(check('name:a.b*', { name: 'axb' }), false);
  assert.equal(check('kind:flow,model', { type: 'model' }), true);
  assert.equal(check('-duration:1ms..10ms', { duration: 5 }), false);
});

test('a term that cannot be used says why and filters nothing', () => {
  const problems = parseQuery('status:bad duration:soon runtime: -runtime:x attribute:a tokens: http://x').map(({ problem }) => problem !== null);
  assert.deepEqual(problems, [true, true, true, true, true, true, false]);
  assert.deepEqual(filterOf(parseQuery('status:bad'), NOW).parameters, []);
});

test('durations and times are read in their units', () => {
  const parameters = (query: string) => Object.fromEntries(filterOf(parseQuery(query), NOW).parameters);
  assert.deepEqual(parameters('duration:250us..1.5s'), { minDuration: '0.25', maxDuration: '1500' });
  assert.deepEqual(parameters('duration:<10ms'), { maxDuration: '10' });
  const { from, to } = parameters('time:07:30..08:00');
  assert.equal(Number(to) - Number(from), 30 * 60_000);
  assert.deepEqual(parameters('time:>2026-11-18T10:00:00Z'), { from: String(NOW - 7_200_000) });
});

const SEEN = { name: ['hello', 'tea shop'], runtime: ['kitchen', '4711'] };

test('names and values of terms are completed', () => {
  assert.deepEqual(completions('st', SEEN), ['status:']);
  assert.deepEqual(completions('-ki', SEEN), ['-kind:']);
  assert.deepEqual(completions('status:e', SEEN), ['status:error']);
  assert.deepEqual(completions('name:', SEEN), ['name:hello', 'name:"tea shop"']);
  assert.deepEqual(completions('runtime:k', SEEN), ['runtime:kitchen']);
  assert.deepEqual(completions('', SEEN), []);
});

test('a row says why a trace failed, or what its input begins with', () => {
  assert.equal(aboutOf({ type: 'flow', input: '"Ada"' }), '"Ada"');
  assert.equal(aboutOf({ type: 'flow', input: '"Ada"', error: 'no' }), 'no');
  assert.equal(aboutOf({ type: 'flow' }), null);
  assert.equal(aboutOf({ type: 'evaluator', input: '{"dataset":[]}' }), null);
  assert.equal(aboutOf({ type: 'agent', input: '{"message":{"role":"user","content":[{"text":"pay \\"12\\""}]}}' }), 'pay "12"');
  assert.equal(aboutOf({ type: 'model', input: '{"messages":[{"content":[{"text":"one"}]},{"content":[{"text":"two, cut…' }), 'two, cut…');
  assert.equal(aboutOf({ type: 'model', input: '{"messages":[]}' }), '{"messages":[]}');
});

test('the command line has the filters that it knows', () => {
  assert.deepEqual(commandWords(parseQuery('status:error runtime:kitchen green "tea pot" tokens:>5')), ['--status', 'error', '--runtime', 'kitchen', '--text', 'green tea pot']);
});

test('spans that are their own ancestors are shown as roots', () => {
  const tree = treeOf([span('a', 'b', 1, 2), span('b', 'a', 0, 3), span('self', 'self', 4, 5), span('root', null, 0, 9)]);
  assert.deepEqual(tree.all.map(({ id, depth }) => `${depth}${id}`).toSorted(), ['0a', '0b', '0root', '0self']);
  assert.equal(tree.roots.length, 4);
});

test('a tree is sorted by start, and a span without its parent is a root', () => {
  const tree = treeOf([span('late', 'root', 5, 9), span('root', null, 0, 10), span('early', 'root', 1, 2), span('lost', 'gone', 3, 4)]);
  assert.deepEqual(tree.all.map(({ id, depth }) => `${depth}${id}`), ['0root', '1early', '1late', '0lost']);
  assert.deepEqual([tree.start, tree.end], [0, 10]);
  assert.deepEqual(visibleRows(tree, new Set(['root'])).map(({ id }) => id), ['root', 'lost']);
});

test('tokens and errors are summed at every level', () => {
  const tree = treeOf([
    span('root', null, 0, 10, failed('outer')),
    span('step', 'root', 1, 9),
    span('m1', 'step', 1, 2, model(10, 1)),
    span('m2', 'step', 3, 4, { ...model(20, 2), ...failed('inner') }),
  ]);
  const root = tree.nodes.get('root');
  assert.deepEqual([root?.tokensIn, root?.tokensOut, root?.hasErrorInside], [30, 3, true]);
  assert.deepEqual(root && causesOf(root).map(({ id }) => id), ['m2']);
});

test('a chain of 10,000 spans is no problem', () => {
  const chain = Array.from({ length: 10_000 }, (_, index) => span(`s${index}`, index ? `s${index - 1}` : null, index, 20_000 - index));
  const tree = treeOf(chain);
  assert.equal(tree.all.at(-1)?.depth, 9_999);
  assert.equal(visibleRows(tree, new Set(['s0'])).length, 1);
});

test('the duration is right of its bar, or left of it, or beside the name', () => {
  const tree = treeOf([span('whole', null, 0, 100), span('start', 'whole', 0, 10), span('end', 'whole', 90, 100)]);
  const labels = tree.all.map((node) => barOf(node, 0, 100, 0).label);
  assert.deepEqual(labels, ['name', 'right', 'left']);
});

test('the axis has steps of 1, 2 or 5', () => {
  assert.deepEqual(axisOf(9.2).ticks.map(({ label }) => label), ['0', '2', '4', '6', '8 ms']);
  assert.deepEqual(axisOf(0.8).ticks.map(({ label }) => label), ['0', '200', '400', '600', '800 µs']);
  assert.deepEqual(axisOf(2600).ticks.map(({ label }) => label), ['0', '1', '2 s']);
  assert.deepEqual(axisOf(0).ticks.length, 1);
  for (let duration = 0.001; duration < 1e8; duration *= 1.7) assert.ok(axisOf(duration).ticks.length <= 6, String(duration));
});

test('the axis of a running trace doubles', () => {
  assert.equal(runningLength(90, 0), 100);
  assert.equal(runningLength(101, 100), 200);
  assert.equal(runningLength(50, 400), 400);
});

test('new rows are held back, known ones change in place', () => {
  const rows = [trace('b', { status: 'running' }), trace('a')];
  const held = merge(rows, [], [trace('c'), trace('b'), trace('a')], false);
  assert.deepEqual(held.rows.map(({ traceId, status }) => traceId + status), ['bsuccess', 'asuccess']);
  assert.deepEqual([held.held.map(({ traceId }) => traceId), held.fresh], [['c'], 1]);
  const inserted = merge(held.rows, held.held, [trace('d'), trace('c')], true);
  assert.deepEqual(inserted.rows.map(({ traceId }) => traceId), ['d', 'c', 'b', 'a']);
  assert.equal(merge(rows, [], [trace('a')], false).rows, rows);
});

test('the rate counts what came in the last second', () => {
  const rate = new Rate();
  assert.equal(rate.add(15, 0), 15);
  assert.equal(rate.add(10, 500), 25);
  assert.equal(rate.add(0, 1200), 10);
});

test('two traces are compared by the path of their span names', () => {
  const input = (text: string): Partial<SpanData> => ({ attributes: { 'genkit:input': text } });
  const left = treeOf([span('r', null, 0, 10), span('a', 'r', 1, 2, { displayName: 'step' }), span('b', 'r', 3, 4, { displayName: 'step', ...input('{"x":1,"y":2}') })]);
  const right = treeOf([
    span('R', null, 0, 20, { displayName: 'r' }),
    span('A', 'R', 1, 2, { displayName: 'step' }),
    span('B', 'R', 3, 4, { displayName: 'step', ...input('{"y":2, "x":1}') }),
    span('C', 'R', 5, 6, { displayName: 'new' }),
  ]);
  const found = pairs(left, right);
  assert.deepEqual(found.map(({ left: one, right: other }) => [one?.id, other?.id]), [['r', 'R'], ['a', 'A'], ['b', 'B'], [undefined, 'C']]);
  assert.deepEqual(found.map(isDifferent), [false, false, false, true]);
  assert.equal(found[0]?.longer, 10);
});

test('an exported trace is read without a server', () => {
  const { span: root } = span('r', null, NOW, NOW + 10, { attributes: { 'genkit:type': 'action', 'genkit:metadata:subtype': 'flow' } });
  const { span: called } = span('m', 'r', NOW + 1, NOW + 2, model(4, 3));
  const file = { traceId: 't', displayName: 'hello', startTime: NOW, endTime: NOW + 10, spans: { r: root, m: called } };
  const [whole] = readTraces(JSON.stringify(file));
  assert.deepEqual([whole?.trace.name, whole?.trace.type, whole?.trace.duration, whole?.trace.usage.inputTokens], ['hello', 'flow', 10, 4]);
  assert.equal(readTraces(JSON.stringify({ sessionId: 's', traces: [file, file] })).length, 2);
  assert.throws(() => readTraces('{"a":'), /not valid JSON/);
  assert.throws(() => readTraces('{"spans":{"a":{}}}'), /no traces/);
});

test('a span knows its kind, its conversation and its failures', () => {
  const message = (role: string, text: string) => ({ role, content: [{ text }] });
  const { span: one } = span('m', null, 0, 1, {
    attributes: {
      'genkit:type': 'action',
      'genkit:metadata:subtype': 'model',
      'genkit:input': JSON.stringify({ messages: [message('user', 'hi')] }),
      'genkit:output': JSON.stringify({ message: message('model', 'hello') }),
    },
    ...failed('no answer'),
    timeEvents: { timeEvent: [{ time: 1, annotation: { attributes: { 'exception.message': 'no answer', 'exception.type': 'Error' }, description: 'exception' } }] },
  } as Partial<SpanData>);
  assert.equal(spanKind(one), 'model');
  assert.equal(talkOf(one)?.answer?.role, 'model');
  assert.deepEqual(failuresOf(one).map(({ message: text, type }) => `${type}: ${text}`), ['Error: no answer']);
  assert.equal(talkOf(span('x', null, 0, 1, { attributes: { 'genkit:input': '{broken' } }).span), null);
});

test('a row is found near the place where it was', () => {
  const rows = Array.from({ length: 1000 }, (_, index) => `r${index}`);
  const idOf = (row: string): string => row;
  for (const hint of [-5, 0, 499, 999, 4000]) assert.equal(indexOfId(rows, idOf, 'r500', hint), 500);
  assert.equal(indexOfId(rows, idOf, 'r0', 999), 0);
  assert.equal(indexOfId(rows, idOf, 'none', 3), -1);
  assert.equal(indexOfId([], idOf, 'none', 0), -1);
});
