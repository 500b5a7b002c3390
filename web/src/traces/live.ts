// New rows of a live list: which of them are known, and whether they may be shown at once.

import type { TraceInfo } from '../api/tools_types';

/** New rows a second above which only the counter counts. */
export const MAX_RATE = 20;
/** Rows that are held back; beyond it the list is read again when they are taken in. */
export const MAX_HELD = 1000;

export interface Merged {
  rows: TraceInfo[];
  held: TraceInfo[];
  /** Whether anything has changed. */
  isChanged: boolean;
  /** The number of rows that were not known. */
  fresh: number;
}

/**
 * Takes the newest traces into a list. Known rows change in place, new ones are put first or held
 * back. `index` has the known ids of `rows`.
 */
export function merge(
  rows: readonly TraceInfo[],
  held: readonly TraceInfo[],
  newest: readonly TraceInfo[],
  mayInsert: boolean,
): Merged {
  const ids = new Map(newest.map((trace) => [trace.traceId, trace]));
  let isChanged = false;
  const update = (trace: TraceInfo): TraceInfo => {
    const other = ids.get(trace.traceId);
    if (other === undefined) return trace;
    ids.delete(trace.traceId);
    if (isSame(trace, other)) return trace;
    isChanged = true;
    return other;
  };
  // New traces are at the front, so that known ones are found there; the rest stays as it is.
  const near = Math.min(rows.length, 4 * newest.length);
  const front = rows.slice(0, near).map(update);
  const waiting = held.map(update);
  const fresh = newest.filter(({ traceId }) => ids.has(traceId));
  const isFresh = fresh.length > 0;
  const rest = near < rows.length ? rows.slice(near) : [];
  const before = mayInsert ? [...fresh, ...waiting] : [];
  return {
    rows: isChanged || before.length > 0 ? [...before, ...front, ...rest] : (rows as TraceInfo[]),
    held: mayInsert ? [] : isFresh || isChanged ? [...fresh, ...waiting] : (held as TraceInfo[]),
    isChanged: isChanged || isFresh,
    fresh: fresh.length,
  };
}

function isSame(a: TraceInfo, b: TraceInfo): boolean {
  return (
    a.status === b.status &&
    a.spans === b.spans &&
    a.duration === b.duration &&
    a.name === b.name &&
    a.usage.totalTokens === b.usage.totalTokens
  );
}

/** The number of events a second, over the last second. */
export class Rate {
  #times: [number, number][] = [];

  add(count: number, now: number): number {
    if (count > 0) this.#times.push([now, count]);
    this.#times = this.#times.filter(([time]) => now - time < 1000);
    return this.#times.reduce((sum, [, one]) => sum + one, 0);
  }
}
