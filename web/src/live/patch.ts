// Changes of a text in the form of the protocol: `["keep", n]`, `["insert", text]`, `["delete", n]`,
// counted in UTF-16 units.

import { changesBetween } from './diff';

export type PatchOp = ['keep', number] | ['insert', string] | ['delete', number];

/** The steps that turn one text into another. */
export function patchBetween(from: string, to: string): PatchOp[] {
  const ops: PatchOp[] = [];
  let at = 0;
  for (const change of changesBetween(from, to)) {
    if (change.from > at) ops.push(['keep', change.from - at]);
    if (change.to > change.from) ops.push(['delete', change.to - change.from]);
    if (change.insert) ops.push(['insert', change.insert]);
    at = change.to;
  }
  if (at < from.length) ops.push(['keep', from.length - at]);
  return ops;
}

/** The text after these steps; `null` if they do not fit it. */
export function applyPatch(text: string, ops: readonly PatchOp[]): string | null {
  const out: string[] = [];
  let at = 0;
  for (const [name, operand] of ops) {
    if (name === 'insert') {
      out.push(operand);
      continue;
    }
    const end = at + operand;
    if (end > text.length) return null;
    if (name === 'keep') out.push(text.slice(at, end));
    at = end;
  }
  out.push(text.slice(at));
  return out.join('');
}
