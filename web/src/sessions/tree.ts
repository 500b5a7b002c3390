// The tree of snapshots of a session: paths, and lanes for the timeline.

import type { SnapshotInfo } from './types';

/** A snapshot as a row of the timeline. */
export interface Row {
  snapshot: SnapshotInfo;
  /** Its turn, from 1: the number of snapshots on its path. */
  turn: number;
  /** The letter of its branch; empty on the first one. */
  branch: string;
  lane: number;
  /** The row of its parent; `null` for the first snapshot of a session. */
  parent: number | null;
}

/** Maximum number of lanes side by side. Further branches share the last one. */
export const MAX_LANES = 6;

/** The snapshots from the first one to `id`. Official runtimes write rows that are their own parents. */
export function pathTo(snapshots: readonly SnapshotInfo[], id: string | null): SnapshotInfo[] {
  const byId = new Map(snapshots.map((snapshot) => [snapshot.snapshotId, snapshot]));
  const path: SnapshotInfo[] = [];
  const seen = new Set<string>();
  for (let next = id ? byId.get(id) : undefined; next && !seen.has(next.snapshotId); ) {
    seen.add(next.snapshotId);
    path.unshift(next);
    next = next.parentId ? byId.get(next.parentId) : undefined;
  }
  return path;
}

/** Snapshots without a turn after them. */
export function leaves(snapshots: readonly SnapshotInfo[]): SnapshotInfo[] {
  const parents = new Set(
    snapshots.filter(({ parentId, snapshotId }) => parentId !== snapshotId).map(({ parentId }) => parentId),
  );
  return snapshots.filter(({ snapshotId }) => !parents.has(snapshotId));
}

/** The end of the branch with a snapshot: the newest leaf after it. */
export function tipOf(snapshots: readonly SnapshotInfo[], id: string | null): string | null {
  const ends = leaves(snapshots).toReversed();
  const end = ends.find((leaf) => pathTo(snapshots, leaf.snapshotId).some(({ snapshotId }) => snapshotId === id));
  return end?.snapshotId ?? id;
}

/** The rows of the timeline, in the order in which the snapshots were written. */
export function rowsOf(snapshots: readonly SnapshotInfo[]): Row[] {
  const rows: Row[] = [];
  const at = new Map<string, number>();
  /** Rows that have a turn after them in their own lane. */
  const continued = new Set<number>();
  const branches: string[] = [];
  for (const snapshot of snapshots) {
    const found = snapshot.parentId === snapshot.snapshotId ? undefined : at.get(snapshot.parentId ?? '');
    const parent = found === undefined ? undefined : rows[found];
    const isNewBranch = parent ? continued.has(found ?? -1) : rows.length > 0;
    if (isNewBranch) branches.push(snapshot.snapshotId);
    else if (found !== undefined) continued.add(found);
    at.set(snapshot.snapshotId, rows.length);
    rows.push({
      snapshot,
      turn: (parent?.turn ?? 0) + 1,
      branch: isNewBranch ? letter(branches.length) : (parent?.branch ?? ''),
      lane: 0,
      parent: found ?? null,
    });
  }
  assignLanes(rows);
  return rows;
}

/** Gives each branch the first lane that is free from its fork to its last row. */
function assignLanes(rows: Row[]): void {
  const spans = new Map<string, { from: number; to: number }>();
  rows.forEach((row, index) => {
    const span = spans.get(row.branch);
    if (span) span.to = index;
    else spans.set(row.branch, { from: row.parent ?? index, to: index });
  });
  const used: { from: number; to: number }[][] = [];
  const lanes = new Map<string, number>();
  for (const [branch, span] of spans) {
    // The first branch keeps the first lane for itself: others would look like its end.
    let lane = branch === '' ? 0 : 1;
    while (lane < MAX_LANES - 1 && used[lane]?.some(({ from, to }) => from <= span.to && span.from <= to)) lane += 1;
    (used[lane] ??= []).push(span);
    lanes.set(branch, lane);
  }
  for (const row of rows) row.lane = lanes.get(row.branch) ?? 0;
}

/** `B` for the first branch beside the main one, `C` for the next; after `Z` comes `AA`. */
function letter(index: number): string {
  return (index >= 26 ? letter(Math.floor(index / 26) - 1) : '') + String.fromCharCode(65 + (index % 26));
}
