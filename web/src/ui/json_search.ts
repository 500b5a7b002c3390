// Search in a JSON value: names and scalars that contain a text.

import { isContainer, membersOf, pointerPart, type Segment } from './json_lines';

export interface Found {
  /** Pointers of the values that match, in order. */
  matches: string[];
  /** Containers with a match inside: they are open while a search is shown. */
  ancestors: Map<string, number>;
  /** Whether there are more matches or values than are looked at. */
  isCut: boolean;
}

const MAX_MATCHES = 500;
const MAX_VALUES = 500_000;

/** Finds a text in names and scalars. `ancestors` has the last member that must be shown. */
export function searchJson(value: unknown, text: string): Found {
  const found: Found = { matches: [], ancestors: new Map(), isCut: false };
  const wanted = text.toLowerCase();
  if (wanted === '') return found;
  let looked = 0;
  const visit = (one: unknown, name: Segment | null, pointer: string): boolean => {
    looked += 1;
    if (found.matches.length >= MAX_MATCHES || looked > MAX_VALUES) {
      found.isCut = true;
      return false;
    }
    const isName = typeof name === 'string' && name.toLowerCase().includes(wanted);
    const isMatch = isName || (!isContainer(one) && String(one).toLowerCase().includes(wanted));
    if (isMatch) found.matches.push(pointer);
    let isInside = false;
    membersOf(one).forEach(([inner, member], index) => {
      if (found.isCut || !visit(member, inner, pointer + pointerPart(inner))) return;
      isInside = true;
      found.ancestors.set(pointer, index);
    });
    return isMatch || isInside;
  };
  visit(value, null, '');
  return found;
}

/** A text cut at the places of another, for marks: every second piece is a match. */
export function pieces(text: string, wanted: string): string[] {
  if (wanted === '') return [text];
  const result: string[] = [];
  const lower = text.toLowerCase();
  const key = wanted.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(key); at >= 0; at = lower.indexOf(key, from)) {
    result.push(text.slice(from, at), text.slice(at, at + key.length));
    from = at + key.length;
  }
  return [...result, text.slice(from)];
}
