// Names of turns for people.

import { texts } from './texts';
import type { Row } from './tree';

/** "turn 2, branch B" in a sentence. */
export function turnName(row: Row | null): string {
  if (!row) return texts.inspector.first;
  const name = texts.chat.turn(row.turn).toLowerCase();
  return row.branch ? `${name}, ${texts.chat.branch(row.branch)}` : name;
}
