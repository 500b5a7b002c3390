// The expanded text in pieces, each with the document that it comes from.

import type { ExpansionSpan } from '../api/types';

export interface Piece {
  text: string;
  /** The document; `null` for the text itself. */
  id: string | null;
}

/** Cuts a text at the ends of its spans. Where spans are nested, the innermost counts. */
export function piecesOf(text: string, spans: readonly ExpansionSpan[]): Piece[] {
  const pieces: Piece[] = [];
  const open: ExpansionSpan[] = [];
  let at = 0;
  const cut = (to: number): void => {
    if (to <= at) return;
    pieces.push({ text: text.slice(at, to), id: open.at(-1)?.id ?? null });
    at = to;
  };
  const closeUntil = (position: number): void => {
    for (let last = open.at(-1); last && last.end <= position; last = open.at(-1)) {
      cut(last.end);
      open.pop();
    }
  };
  const sorted = spans.toSorted((a, b) => a.start - b.start || b.end - a.end);
  for (const span of sorted) {
    closeUntil(span.start);
    cut(span.start);
    open.push(span);
  }
  closeUntil(Infinity);
  cut(text.length);
  return pieces;
}
