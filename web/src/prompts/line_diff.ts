// The difference of two texts for people: by lines, with the changed words marked.

import { editsBetween, type Edit } from '../live/diff';
import { linesOf, tokensOf } from '../live/tokens';

/** A part of a line, and whether it has changed. */
export interface Part {
  text: string;
  isChanged: boolean;
}

export interface Line {
  op: 'same' | 'insert' | 'delete';
  /** Numbers of the line in both texts, counted from 1. */
  from: number | null;
  to: number | null;
  parts: Part[];
}

/** Equal lines that are left out. */
export interface Gap {
  op: 'gap';
  count: number;
}

/** Equal lines that are shown before and after a change. */
const CONTEXT = 3;

/** The lines of both texts in order. */
export function diffLines(from: string, to: string): Line[] {
  const a = linesOf(from);
  const b = linesOf(to);
  const edits = editsBetween(a, b) ?? [{ from: 0, to: a.length, insert: b }];
  const lines: Line[] = [];
  let aLine = 0;
  let bLine = 0;
  const same = (until: number): void => {
    for (; aLine < until; aLine += 1) {
      bLine += 1;
      lines.push({ op: 'same', from: aLine + 1, to: bLine, parts: toLines([plain(a[aLine] ?? '')])[0] ?? [] });
    }
  };
  for (const edit of edits) {
    same(edit.from);
    const removed = a.slice(edit.from, edit.to);
    const words = wordsOf(removed.join(''), edit.insert.join(''));
    for (const parts of words.before) {
      aLine += 1;
      lines.push({ op: 'delete', from: aLine, to: null, parts });
    }
    for (const parts of words.after) {
      bLine += 1;
      lines.push({ op: 'insert', from: null, to: bLine, parts });
    }
  }
  same(a.length);
  return lines;
}

/** The lines with long equal parts left out. */
export function folded(lines: readonly Line[]): (Line | Gap)[] {
  const isNear = lines.map(() => false);
  lines.forEach((line, at) => {
    if (line.op === 'same') return;
    for (let near = at - CONTEXT; near <= at + CONTEXT; near += 1) {
      if (near >= 0 && near < lines.length) isNear[near] = true;
    }
  });
  const out: (Line | Gap)[] = [];
  lines.forEach((line, at) => {
    if (isNear[at]) {
      out.push(line);
      return;
    }
    const last = out.at(-1);
    if (last?.op === 'gap') last.count += 1;
    else out.push({ op: 'gap', count: 1 });
  });
  return out;
}

/** The parts of the lines of a changed passage, before and after. */
function wordsOf(before: string, after: string): { before: Part[][]; after: Part[][] } {
  const a = tokensOf(before);
  const b = tokensOf(after);
  const edits = before && after ? editsBetween(a, b) : null;
  // Marks help only while something of the line stays.
  if (!edits || weightOf(edits) > 0.7 * (a.length + b.length)) {
    return { before: toLines([plain(before)]), after: toLines([plain(after)]) };
  }
  const removed: Part[] = [];
  const added: Part[] = [];
  let at = 0;
  for (const edit of edits) {
    const equal = a.slice(at, edit.from).join('');
    removed.push(plain(equal), { text: a.slice(edit.from, edit.to).join(''), isChanged: true });
    added.push(plain(equal), { text: edit.insert.join(''), isChanged: true });
    at = edit.to;
  }
  const rest = plain(a.slice(at).join(''));
  return { before: toLines([...removed, rest]), after: toLines([...added, rest]) };
}

function weightOf(edits: readonly Edit[]): number {
  return edits.reduce((sum, edit) => sum + edit.to - edit.from + edit.insert.length, 0);
}

/** Splits parts at their line ends, which are not shown. */
function toLines(parts: readonly Part[]): Part[][] {
  const lines: Part[][] = [];
  let current: Part[] = [];
  let isOpen = false;
  for (const { text, isChanged } of parts) {
    for (const piece of linesOf(text)) {
      const shown = piece.replace(/[\r\n]+$/, '');
      if (shown) current.push({ text: shown, isChanged });
      isOpen = true;
      if (shown === piece) continue;
      lines.push(current);
      current = [];
      isOpen = false;
    }
  }
  if (isOpen) lines.push(current);
  return lines;
}

function plain(text: string): Part {
  return { text, isChanged: false };
}
