// What differs between two JSON values, by path.

import { isContainer, type Path, type Segment, pointerOf } from './json_lines';

export type Change = 'same' | 'added' | 'removed' | 'changed' | 'inside';

export interface Difference {
  change: Change;
  name: Segment | null;
  /** The path in the value after the change; for a removed value, where it was. */
  path: Path;
  before: unknown;
  after: unknown;
  /** The members of two containers of the same type that differ. */
  members: Difference[];
}

export interface Counts {
  added: number;
  removed: number;
  changed: number;
}

export type PatchOperation =
  | { op: 'add' | 'replace'; path: string; value: unknown }
  | { op: 'remove'; path: string };

/** Elements of two arrays that are aligned exactly; longer middles are compared by position. */
const MAX_ALIGNED = 400;

/** Compares two values. */
export function compare(before: unknown, after: unknown): Difference {
  return differenceOf(before, after, null, []);
}

export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isContainer(a) || !isContainer(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return names.every((name) => Object.hasOwn(right, name) && sameJson(left[name], right[name]));
}

function differenceOf(before: unknown, after: unknown, name: Segment | null, path: Path): Difference {
  const result = { name, path, before, after, members: [] };
  if (sameJson(before, after)) return { ...result, change: 'same' };
  const isBoth = isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after);
  if (!isBoth) return { ...result, change: 'changed' };
  const members = Array.isArray(before)
    ? elements(before, after as unknown[], path)
    : properties(before as Record<string, unknown>, after as Record<string, unknown>, path);
  return { ...result, change: 'inside', members };
}

function properties(before: Record<string, unknown>, after: Record<string, unknown>, path: Path): Difference[] {
  const names = [...Object.keys(before), ...Object.keys(after).filter((name) => !Object.hasOwn(before, name))];
  return names.map((name) => {
    const inner = [...path, name];
    if (!Object.hasOwn(after, name)) return removed(before[name], name, inner);
    if (!Object.hasOwn(before, name)) return added(after[name], name, inner);
    return differenceOf(before[name], after[name], name, inner);
  });
}

const added = (after: unknown, name: Segment, path: Path): Difference => ({
  change: 'added',
  name,
  path,
  before: undefined,
  after,
  members: [],
});

const removed = (before: unknown, name: Segment, path: Path): Difference => ({
  change: 'removed',
  name,
  path,
  before,
  after: undefined,
  members: [],
});

/** Aligns elements: equal ones are paired, and what is left between two pairs is compared in order. */
function elements(before: readonly unknown[], after: readonly unknown[], path: Path): Difference[] {
  const result: Difference[] = [];
  let [from, to] = [0, 0];
  const between = (endBefore: number, endAfter: number): void => {
    while (from < endBefore && to < endAfter) {
      result.push(differenceOf(before[from], after[to], to, [...path, to]));
      from += 1;
      to += 1;
    }
    for (; from < endBefore; from += 1) result.push(removed(before[from], to, [...path, to]));
    for (; to < endAfter; to += 1) result.push(added(after[to], to, [...path, to]));
  };
  for (const [left, right] of equalPairs(before, after)) {
    between(left, right);
    between(left + 1, right + 1);
  }
  between(before.length, after.length);
  return result;
}

/** Indices of equal elements, by the longest common subsequence of what is between the ends. */
function equalPairs(before: readonly unknown[], after: readonly unknown[]): [number, number][] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && sameJson(before[start], after[start])) start += 1;
  let end = 0;
  while (end < shorter - start && sameJson(before.at(-1 - end), after.at(-1 - end))) end += 1;
  const pairs: [number, number][] = Array.from({ length: start }, (_, index) => [index, index]);
  const middleBefore = before.slice(start, before.length - end);
  const middleAfter = after.slice(start, after.length - end);
  for (const [left, right] of longestCommon(middleBefore, middleAfter)) pairs.push([left + start, right + start]);
  for (let index = end; index > 0; index -= 1) pairs.push([before.length - index, after.length - index]);
  return pairs;
}

function longestCommon(before: readonly unknown[], after: readonly unknown[]): [number, number][] {
  if (before.length > MAX_ALIGNED || after.length > MAX_ALIGNED) return [];
  const [left, right] = [before, after].map((list) => list.map((one) => JSON.stringify(one)));
  if (!left || !right) return [];
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      const longer = Math.max(at(i + 1, j), at(i, j + 1));
      lengths[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : longer;
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) {
      pairs.push([i, j]);
      i += 1;
      j += 1;
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return pairs;
}

/** The number of values that were added, removed and changed. */
export function countChanges(difference: Difference): Counts {
  const counts = { added: 0, removed: 0, changed: 0 };
  const visit = (one: Difference): void => {
    if (one.change === 'added' || one.change === 'removed' || one.change === 'changed') counts[one.change] += 1;
    one.members.forEach(visit);
  };
  visit(difference);
  return counts;
}

/** The difference as JSON Patch (RFC 6902). Operations are applied in order. */
export function jsonPatch(difference: Difference): PatchOperation[] {
  const path = pointerOf(difference.path);
  switch (difference.change) {
    case 'same':
      return [];
    case 'added':
      return [{ op: 'add', path, value: difference.after }];
    case 'removed':
      return [{ op: 'remove', path }];
    case 'changed':
      return [{ op: 'replace', path, value: difference.after }];
    case 'inside':
      return difference.members.flatMap(jsonPatch);
  }
}
