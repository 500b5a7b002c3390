// Figures of traces over a time range: counts per step, percentiles, sums.

import type { TraceInfo } from '../api/tools_types';

export interface Range {
  id: 'minutes' | 'hour' | 'week';
  /** Length in milliseconds. */
  length: number;
  /** Length of one bar in milliseconds. */
  step: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

export const RANGES: readonly Range[] = [
  { id: 'minutes', length: 2 * MINUTE, step: 5 * SECOND },
  { id: 'hour', length: HOUR, step: 2 * MINUTE },
  { id: 'week', length: 7 * 24 * HOUR, step: 6 * HOUR },
];

export interface Bar {
  /** The start of its step, in milliseconds since 1970. */
  from: number;
  all: number;
  failed: number;
}

export interface Figures {
  all: number;
  failed: number;
  /** The duration that 95 of 100 ended traces do not exceed, in milliseconds; `null` without any. */
  within: number | null;
  tokens: number;
  /** `null` if no trace has a cost. */
  cost: number | null;
  bars: Bar[];
  /** The largest bar, at least 1. */
  most: number;
}

/** The figures of traces that began in the range that ends at `now`. */
export function figuresOf(traces: readonly TraceInfo[], range: Range, now: number): Figures {
  const bars = barsOf(range, now);
  const first = bars[0]?.from ?? now;
  const counted = traces.filter((trace) => trace.startTime >= first);
  for (const trace of counted) {
    const bar = bars[Math.min(bars.length - 1, Math.floor((trace.startTime - first) / range.step))];
    if (!bar) continue;
    bar.all += 1;
    if (trace.status === 'error') bar.failed += 1;
  }
  const durations = counted.flatMap(({ duration }) => (typeof duration === 'number' ? [duration] : []));
  const costs = counted.flatMap(({ usage }) => (typeof usage.cost === 'number' ? [usage.cost] : []));
  return {
    all: counted.length,
    failed: counted.filter(({ status }) => status === 'error').length,
    within: percentile(durations, 0.95),
    tokens: sum(counted.map(({ usage }) => usage.totalTokens)),
    cost: costs.length > 0 ? sum(costs) : null,
    bars,
    most: Math.max(1, ...bars.map(({ all }) => all)),
  };
}

/** The start of a range: the bars end with the step that contains `now`. */
export function startOf(range: Range, now: number): number {
  return Math.floor(now / range.step) * range.step + range.step - range.length;
}

/** The smallest value that a share of the values does not exceed. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

function barsOf(range: Range, now: number): Bar[] {
  const start = startOf(range, now);
  const count = Math.round(range.length / range.step);
  return Array.from({ length: count }, (_, index) => ({ from: start + index * range.step, all: 0, failed: 0 }));
}

function sum(values: readonly number[]): number {
  return values.reduce((whole, value) => whole + value, 0);
}
