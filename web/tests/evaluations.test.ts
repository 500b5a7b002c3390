// Cases of data sets, and scores of evaluations.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Case, EvalRun, EvalRunKey, Metric } from '../src/api/tools_types';
import { editable, filterCases, oneLine, parseCases, readEditable } from '../src/datasets/cases';
import { caseVerdict, compareRuns, scoreText, summaryText, trendOf } from '../src/evals/scores';

test('a file of cases may be an array of cases, of inputs, an object around it, or lines', () => {
  assert.deepEqual(parseCases('[{"input":1,"reference":2,"testCaseId":"a"},{"input":"x","other":3}]'), [
    { testCaseId: 'a', input: 1, reference: 2 },
    { input: 'x' },
  ]);
  assert.deepEqual(parseCases('["a", {"b": 1}]'), [{ input: 'a' }, { input: { b: 1 } }]);
  assert.deepEqual(parseCases('{"samples":[{"input":null}]}'), [{ input: null }]);
  assert.deepEqual(parseCases('{"input":1}\n"two"\n'), [{ input: 1 }, { input: 'two' }]);
});

test('a broken file says what is wrong and where', () => {
  assert.throws(() => parseCases('  '), /empty/);
  assert.throws(() => parseCases('[1,'), SyntaxError);
  assert.throws(() => parseCases('1\n{'), /Line 2 is not JSON/);
  assert.throws(() => parseCases('3'), /no array of cases/);
});

test('what is edited is JSON, and nothing is no value', () => {
  assert.equal(editable(undefined), '');
  assert.equal(readEditable('  '), undefined);
  assert.deepEqual(readEditable(editable({ a: [1] })), { a: [1] });
  assert.equal(oneLine({ a: 1 }), '{"a":1}');
  const samples = [{ testCaseId: 'one', input: 'Ada' }, { testCaseId: 'two', input: { name: 'Bo' } }];
  assert.deepEqual(filterCases(samples, ' bo ').map(({ testCaseId }) => testCaseId), ['two']);
});

const metric = (score: Metric['score'], status: Metric['status'] = null): Metric => ({ evaluator: '/evaluator/e', score: score ?? null, status: status ?? null });
const result = (id: string, metrics: Metric[], more: Partial<Case> = {}): Case => ({ testCaseId: id, input: id, traceIds: [], metrics, ...more });
const run = (id: string, results: Case[]): EvalRun => ({ key: { evalRunId: id, createdAt: id, metricSummaries: [], metricsMetadata: {} }, results });

test('the verdict of a case is its worst one', () => {
  assert.equal(caseVerdict(result('a', [metric(1, 'PASS'), metric(0, 'FAIL')])), 'fail');
  assert.equal(caseVerdict(result('a', [metric(1, 'PASS')], { error: 'no' })), 'error');
  assert.equal(caseVerdict(result('a', [metric(0.5)])), 'none');
  assert.equal(scoreText(metric(0.123)), '0.12');
  assert.equal(scoreText(metric(true)), 'yes');
  assert.equal(scoreText(metric(undefined)), '–');
});

test('two evaluations are compared case by case', () => {
  const before = run('1', [result('a', [metric(0.2)]), result('b', [metric(0.9)]), result('c', [metric(1)]), result('gone', [])]);
  const after = run('2', [
    result('a', [metric(0.4)]),
    result('b', [metric(0.1)]),
    { ...result('other', [metric(1)]), input: 'c' },
    result('new', []),
  ]);
  const changes = compareRuns(before, after).map(({ id, change }) => `${id} ${change}`);
  assert.deepEqual(changes, ['a better', 'b worse', 'other same', 'new other', 'gone other']);
});

test('a trend has the evaluations of the same action and data set, oldest first', () => {
  const key = (id: string, actionRef: string, passed: number): EvalRunKey => ({
    evalRunId: id,
    createdAt: id,
    actionRef,
    datasetId: 'd',
    metricsMetadata: {},
    metricSummaries: [
      { evaluator: '/evaluator/e', testCaseCount: 4, errorCount: 0, scoreUndefinedCount: 0, statusDistribution: { PASS: passed, FAIL: 4 - passed } },
    ],
  });
  const all = [key('3', '/flow/f', 4), key('2', '/flow/g', 1), key('1', '/flow/f', 2)];
  const [series] = trendOf(all, key('3', '/flow/f', 4));
  assert.deepEqual(series?.points.map(({ id, text }) => `${id} ${text}`), ['1 50 %', '3 100 %']);
  assert.equal(summaryText({ ...all[0]!.metricSummaries[0]!, statusDistribution: {}, averageScore: 0.5 }), '0.50');
});
