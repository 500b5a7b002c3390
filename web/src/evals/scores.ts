// Scores of evaluations: how they are written, summed up and compared.

import type { Case, EvalRun, EvalRunKey, Metric, MetricSummary } from '../api/tools_types';

/** The name of an evaluator or score for people. */
export function evaluatorName(key: string): string {
  return key.replace(/^\/evaluator\//, '');
}

/** A score as a short text; "–" if there is none. */
export function scoreText(metric: Metric): string {
  const { score } = metric;
  if (typeof score === 'number') return Number.isInteger(score) ? String(score) : score.toFixed(2);
  if (typeof score === 'boolean') return score ? 'yes' : 'no';
  return score ?? '–';
}

export type Verdict = 'pass' | 'fail' | 'error' | 'none';

export function verdictOf(metric: Metric): Verdict {
  if (metric.error) return 'error';
  if (metric.status === 'PASS') return 'pass';
  if (metric.status === 'FAIL') return 'fail';
  return 'none';
}

/** The worst verdict of a case: its own error, then that of any metric. */
export function caseVerdict(one: Case): Verdict {
  if (one.error) return 'error';
  const verdicts = (one.metrics ?? []).map(verdictOf);
  return verdicts.find((verdict) => verdict === 'error') ?? verdicts.find((verdict) => verdict === 'fail') ?? (verdicts.includes('pass') ? 'pass' : 'none');
}

/** One number of a summary between 0 and 1 if that is possible: the share that passed, or the mean. */
export function summaryValue(summary: MetricSummary): number | null {
  const passed = summary.statusDistribution['PASS'] ?? 0;
  const failed = summary.statusDistribution['FAIL'] ?? 0;
  if (passed + failed > 0) return passed / (passed + failed);
  return summary.averageScore ?? null;
}

/** A summary as a short text. */
export function summaryText(summary: MetricSummary): string {
  const passed = summary.statusDistribution['PASS'] ?? 0;
  const failed = summary.statusDistribution['FAIL'] ?? 0;
  if (passed + failed > 0) return `${Math.round((100 * passed) / (passed + failed))} %`;
  if (typeof summary.averageScore === 'number') return summary.averageScore.toFixed(2);
  const scores = Object.entries(summary.scoreDistribution ?? {});
  return scores.map(([score, count]) => `${score} ${count}`).join(', ') || '–';
}

/** A number by which two scores of a metric are compared; `null` if they cannot be. */
function rank(metric: Metric | undefined): number | null {
  if (!metric) return null;
  if (typeof metric.score === 'number') return metric.score;
  if (typeof metric.score === 'boolean') return metric.score ? 1 : 0;
  const verdict = verdictOf(metric);
  return verdict === 'pass' ? 1 : verdict === 'fail' ? 0 : null;
}

export type Change = 'better' | 'worse' | 'same' | 'other';

export interface ComparedCase {
  id: string;
  before: Case | undefined;
  after: Case | undefined;
  change: Change;
}

/** The key of a metric inside of a case. */
export function metricKey(metric: Metric): string {
  return metric.scoreId ? `${metric.evaluator}/${metric.scoreId}` : metric.evaluator;
}

/** The cases of two evaluations, paired by id, or by equal input where the ids are others. */
export function compareRuns(before: EvalRun, after: EvalRun): ComparedCase[] {
  const rest = new Map(before.results.map((one) => [one.testCaseId, one]));
  const withInput = (input: unknown): Case | undefined => {
    const text = JSON.stringify(input);
    return [...rest.values()].find((one) => JSON.stringify(one.input) === text);
  };
  const pairs = after.results.map((one) => {
    const old = rest.get(one.testCaseId) ?? withInput(one.input);
    if (old) rest.delete(old.testCaseId);
    return { id: one.testCaseId, before: old, after: one, change: changeOf(old, one) };
  });
  const gone = [...rest.values()].map((one) => ({
    id: one.testCaseId,
    before: one,
    after: undefined,
    change: 'other' as const,
  }));
  return [...pairs, ...gone];
}

function changeOf(before: Case | undefined, after: Case): Change {
  if (!before) return 'other';
  if (Boolean(before.error) !== Boolean(after.error)) return after.error ? 'worse' : 'better';
  const old = new Map((before.metrics ?? []).map((metric) => [metricKey(metric), metric]));
  const steps = (after.metrics ?? []).map((metric) => {
    const [from, to] = [rank(old.get(metricKey(metric))), rank(metric)];
    return from === null || to === null ? 0 : Math.sign(to - from);
  });
  if (steps.some((step) => step < 0)) return 'worse';
  return steps.some((step) => step > 0) ? 'better' : 'same';
}

/** The values of one metric over evaluations, oldest first. */
export interface Series {
  name: string;
  points: { id: string; at: string; value: number; text: string }[];
}

/** Series of all metrics of evaluations of the same action and data set as this one. */
export function trendOf(all: readonly EvalRunKey[], one: EvalRunKey): Series[] {
  const alike = all.filter(({ actionRef, datasetId }) => actionRef === one.actionRef && datasetId === one.datasetId);
  const series = new Map<string, Series>();
  for (const key of alike.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt))) {
    for (const summary of key.metricSummaries) {
      const value = summaryValue(summary);
      if (value === null) continue;
      const name = evaluatorName(summary.evaluator);
      const found = series.get(name) ?? { name, points: [] };
      series.set(name, found);
      found.points.push({ id: key.evalRunId, at: key.createdAt, value, text: summaryText(summary) });
    }
  }
  return [...series.values()];
}
