// The shortest difference of two texts, in tokens, after E. Myers, "An O(ND) Difference Algorithm".

import { linesOf, tokensOf } from './tokens';

/** Tokens `from` to `to` of the old text become `insert`. */
export interface Edit {
  from: number;
  to: number;
  insert: string[];
}

/** Two texts in the same tokens, and the edits that lead from the first to the second. */
export interface Difference {
  tokens: string[];
  edits: Edit[];
}

/** A change of a text by positions in UTF-16 units, as the editor takes it. */
export interface Change {
  from: number;
  to: number;
  insert: string;
}

/**
 * Maximum number of inserted and deleted tokens that are searched for. Texts that differ more are
 * compared by lines, and if their lines differ more, as a whole.
 */
const MAX_DISTANCE = 2000;

/** The ways to split a text, finest first. */
export const SPLITS: readonly ((text: string) => string[])[] = [tokensOf, linesOf];

/** The difference of two texts in the finest tokens in which it can be found. */
export function difference(from: string, to: string): Difference {
  for (const split of SPLITS) {
    const tokens = split(from);
    const edits = editsBetween(tokens, split(to));
    if (edits) return { tokens, edits };
  }
  return { tokens: [from], edits: [{ from: 0, to: 1, insert: [to] }] };
}

/** The changes that turn one text into another, by positions in the first, in order. */
export function changesBetween(from: string, to: string): Change[] {
  if (from === to) return [];
  const { tokens, edits } = difference(from, to);
  const starts = startsOf(tokens);
  return edits.map((edit) => ({
    from: starts[edit.from] ?? 0,
    to: starts[edit.to] ?? from.length,
    insert: edit.insert.join(''),
  }));
}

/** Where a position of the first text is in the second. What is inserted there comes after it. */
export function positionAfter(changes: readonly Change[], position: number): number {
  let moved = position;
  for (const { from, to, insert } of changes) {
    if (from >= position) break;
    moved += to <= position ? insert.length - (to - from) : from - position;
  }
  return moved;
}

/** The position of each token, and the length of the text at the end. */
function startsOf(tokens: readonly string[]): number[] {
  const starts = [0];
  let at = 0;
  for (const token of tokens) {
    at += token.length;
    starts.push(at);
  }
  return starts;
}

/** The shortest edits between two lists of tokens; `null` if there are more than the maximum. */
export function editsBetween(a: readonly string[], b: readonly string[]): Edit[] | null {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let aEnd = a.length;
  let bEnd = b.length;
  while (aEnd > start && bEnd > start && a[aEnd - 1] === b[bEnd - 1]) {
    aEnd -= 1;
    bEnd -= 1;
  }
  if (start === aEnd && start === bEnd) return [];
  // Only one side has tokens in the middle: there is nothing to search.
  if (start === aEnd || start === bEnd) {
    return slid([{ from: start, to: aEnd, insert: b.slice(start, bEnd) }], a);
  }
  const steps = walk(a.slice(start, aEnd), b.slice(start, bEnd));
  return steps && slid(joined(steps, b, start), a);
}

/**
 * Moves insertions and deletions to the last place at which they can stand: `a x b` is `a b` with
 * `x ` before `b`, or with ` x` after `a`. Equal edits of two texts then are equal.
 */
function slid(edits: Edit[], a: readonly string[]): Edit[] {
  const out: Edit[] = [];
  for (const edit of edits.toReversed()) {
    const next = out[0];
    const limit = next?.from ?? a.length;
    const moved = edit.insert.length === 0 ? laterDeletion(edit, a, limit) : laterInsertion(edit, a, limit);
    if (next && moved.to === next.from) {
      out[0] = { from: moved.from, to: next.to, insert: [...moved.insert, ...next.insert] };
    } else {
      out.unshift(moved);
    }
  }
  return out;
}

function laterDeletion({ from, to }: Edit, a: readonly string[], limit: number): Edit {
  while (to < limit && a[from] === a[to]) {
    from += 1;
    to += 1;
  }
  return { from, to, insert: [] };
}

function laterInsertion(edit: Edit, a: readonly string[], limit: number): Edit {
  if (edit.from !== edit.to) return edit;
  let { from } = edit;
  const insert = [...edit.insert];
  while (from < limit && insert[0] === a[from]) {
    insert.push(insert.shift() ?? '');
    from += 1;
  }
  return { from, to: from, insert };
}

/** A token that is only in the old text (`isDelete`), or only in the new one. */
interface Step {
  /** Position in the old text. */
  a: number;
  /** Position in the new text. */
  b: number;
  isDelete: boolean;
}

/** The deletions and insertions of the shortest path, in order. */
function walk(a: readonly string[], b: readonly string[]): Step[] | null {
  const max = Math.min(a.length + b.length, MAX_DISTANCE);
  const offset = max + 1;
  // The furthest position in `a` on each diagonal, and a copy for every distance.
  const furthest = new Int32Array(2 * max + 3);
  const history: Int32Array[] = [];
  for (let distance = 0; distance <= max; distance += 1) {
    history.push(furthest.slice(offset - distance - 1, offset + distance + 2));
    for (let diagonal = -distance; diagonal <= distance; diagonal += 2) {
      const left = at(furthest, offset + diagonal - 1);
      const above = at(furthest, offset + diagonal + 1);
      const isDown = diagonal === -distance || (diagonal !== distance && left < above);
      let x = isDown ? above : left + 1;
      let y = x - diagonal;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      furthest[offset + diagonal] = x;
      if (x >= a.length && y >= b.length) return backtrack(history, a.length, b.length);
    }
  }
  return null;
}

/** Reads the path back from the end. */
function backtrack(history: readonly Int32Array[], aLength: number, bLength: number): Step[] {
  const steps: Step[] = [];
  let x = aLength;
  let y = bLength;
  for (let distance = history.length - 1; distance > 0; distance -= 1) {
    const row = history[distance];
    if (!row) break;
    // A row begins with the diagonal `-distance - 1`.
    const on = (diagonal: number): number => at(row, diagonal + distance + 1);
    const diagonal = x - y;
    const isDown =
      diagonal === -distance || (diagonal !== distance && on(diagonal - 1) < on(diagonal + 1));
    const previous = isDown ? diagonal + 1 : diagonal - 1;
    const previousX = on(previous);
    const previousY = previousX - previous;
    steps.push({ a: previousX, b: previousY, isDelete: !isDown });
    x = previousX;
    y = previousY;
  }
  return steps.reverse();
}

/** Joins neighbouring steps to edits. `start` tokens stand before the compared part. */
function joined(steps: readonly Step[], b: readonly string[], start: number): Edit[] {
  const edits: Edit[] = [];
  for (const step of steps) {
    const from = step.a + start;
    let last = edits.at(-1);
    if (!last || last.to !== from) {
      last = { from, to: from, insert: [] };
      edits.push(last);
    }
    if (step.isDelete) last.to += 1;
    else last.insert.push(b[step.b + start] ?? '');
  }
  return edits;
}

function at(row: Int32Array, index: number): number {
  return row[index] ?? 0;
}
