// The logic of the overview.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { RuntimeInfo, TraceInfo } from '../src/api/tools_types';
import { figuresOf, percentile, RANGES, startOf, type Range } from '../src/overview/figures';
import { headlineOf } from '../src/overview/headline';
import { isBad, logLine } from '../src/overview/log_lines';
import { questionOf } from '../src/state/question';

const NOW = Date.UTC(2026, 0, 1, 12, 0, 2);
const minutes = RANGES[0] as Range;

function trace(ago: number, members: Partial<TraceInfo> = {}): TraceInfo {
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3 };
  const names = { traceId: String(ago), name: 'hello', rootSpanId: 'r', spans: 1, droppedSpans: 0 };
  return { ...names, usage, status: 'success', startTime: NOW - ago, duration: 10, ...members };
}

test('traces are counted in the bar of their time, and older ones are left out', () => {
  const traces = [trace(100), trace(1_000, { status: 'error' }), trace(60_000), trace(500_000)];
  const figures = figuresOf(traces, minutes, NOW);
  assert.equal(figures.all, 3);
  assert.equal(figures.failed, 1);
  assert.equal(figures.tokens, 9);
  assert.equal(figures.cost, null);
  assert.equal(figures.bars.length, 24);
  assert.deepEqual(figures.bars.at(-1), { from: NOW - 2_000, all: 2, failed: 1 });
  assert.equal(figures.most, 2);
});

test('the last bar of every range contains the present', () => {
  for (const range of RANGES) {
    const end = startOf(range, NOW) + range.length;
    assert.ok(end > NOW && end - range.step <= NOW, range.id);
  }
});

test('the percentile is a value of the list, and unknown without one', () => {
  assert.equal(percentile([], 0.95), null);
  assert.equal(percentile([7], 0.95), 7);
  assert.equal(percentile(Array.from({ length: 100 }, (_, at) => at + 1), 0.95), 95);
});

test('costs are added as soon as one trace has a cost', () => {
  const usage = { inputTokens: 1, outputTokens: 2, totalTokens: 3, cost: 0.25 };
  assert.equal(figuresOf([trace(10), trace(20, { usage })], minutes, NOW).cost, 0.25);
});

test('a line is split into time, level and text, without the colours of a terminal', () => {
  assert.deepEqual(logLine('\u001b[2m2026-11-18T07:46:20.202067Z\u001b[0m \u001b[32m INFO\u001b[0m demo: ready'), {
    time: '07:46:20',
    level: 'INFO',
    text: 'demo: ready',
  });
  assert.deepEqual(logLine('Server started'), { time: '', level: '', text: 'Server started' });
  assert.ok(isBad(logLine('[error] it broke').level));
});

test('the headline names the most urgent fact', () => {
  const runtime = { id: '1', pid: 7, name: 'kitchen', reflectionServerUrl: '', timestamp: '' } as RuntimeInfo;
  const calm = { waiting: 0, app: null, runtimes: [runtime], failed: 0, running: 0 };
  assert.equal(headlineOf(calm), 'Nothing needs you');
  assert.equal(headlineOf({ ...calm, running: 1 }), 'One run is at work');
  assert.equal(headlineOf({ ...calm, failed: 2, running: 1 }), '2 runs failed in the last hour');
  assert.equal(headlineOf({ ...calm, runtimes: [{ ...runtime, isSilent: true }] }), 'kitchen 7 does not answer');
  assert.equal(headlineOf({ ...calm, runtimes: [] }), 'No runtime is connected');
  assert.equal(headlineOf({ ...calm, waiting: 1, runtimes: [] }), 'One session waits for you');
});

test('the question of an interrupt is read from the last message', () => {
  const call = { toolRequest: { name: 'pay', input: { amount: 12 } }, metadata: { interrupt: { question: 'Really?' } } };
  const messages = [
    { role: 'user', content: [{ text: 'pay' }] },
    { role: 'model', content: [{ text: 'one moment' }, call] },
  ];
  assert.deepEqual(questionOf({ state: { messages } }), { tool: 'pay', question: 'Really?', input: { amount: 12 } });
  assert.equal(questionOf({ state: null }).question, null);
});
