// Three-way merge on tokens, by the rules of the server (`oxikit-prompts`, `text::merge`): equal
// changes count once; insertions at one point are both kept, the stored one first; where both have
// replaced the same text the incoming one is taken; what one has written into a part that the other
// has deleted stays. The result never has conflict markers.

import { editsBetween, SPLITS, type Edit } from './diff';
import { wouldJoinWords } from './tokens';

/** A text that both sides have changed in different ways. */
export interface Conflict {
  base: string;
  stored: string;
  incoming: string;
}

export interface Merge {
  text: string;
  conflicts: Conflict[];
}

/** Merges two texts that were made from `base`. */
export function merge(base: string, stored: string, incoming: string): Merge {
  if (base === stored || stored === incoming) return { text: incoming, conflicts: [] };
  if (base === incoming) return { text: stored, conflicts: [] };
  for (const split of SPLITS) {
    const tokens = split(base);
    const theirs = editsBetween(tokens, split(stored));
    const ours = theirs && editsBetween(tokens, split(incoming));
    if (theirs && ours) return mergeEdits(tokens, theirs, ours);
  }
  return { text: incoming, conflicts: [{ base, stored, incoming }] };
}

/** The edits of both sides that overlap, and the part of the base that they cover. */
interface Region {
  from: number;
  to: number;
  stored: Edit[];
  incoming: Edit[];
}

function mergeEdits(base: readonly string[], stored: readonly Edit[], incoming: readonly Edit[]): Merge {
  const output = new Output(base);
  const conflicts: Conflict[] = [];
  const rest = { stored: [...stored], incoming: [...incoming] };
  for (let region = nextRegion(rest); region; region = nextRegion(rest)) {
    output.keepTo(region.from);
    if (resolve(output, region)) {
      conflicts.push({
        base: base.slice(region.from, region.to).join(''),
        stored: applied(base, region, region.stored),
        incoming: applied(base, region, region.incoming),
      });
    }
  }
  output.keepTo(base.length);
  return { text: output.text, conflicts };
}

/** Takes the first edit of both sides, and all that overlap it. */
function nextRegion(rest: { stored: Edit[]; incoming: Edit[] }): Region | null {
  const candidates = [rest.stored[0], rest.incoming[0]].filter((edit) => edit !== undefined);
  const first = candidates.sort((a, b) => a.from - b.from || a.to - b.to)[0];
  if (!first) return null;
  const region: Region = { from: first.from, to: first.to, stored: [], incoming: [] };
  for (let hasGrown = true; hasGrown; ) {
    hasGrown = false;
    for (const side of ['stored', 'incoming'] as const) {
      for (let edit = rest[side][0]; edit && overlaps(region, edit); edit = rest[side][0]) {
        region.to = Math.max(region.to, edit.to);
        region[side].push(edit);
        rest[side].shift();
        hasGrown = true;
      }
    }
  }
  return region;
}

interface Part {
  from: number;
  to: number;
}

function isEmpty(part: Part): boolean {
  return part.from === part.to;
}

/**
 * Whether two parts have a token in common. An insertion overlaps a part if it is inside of it, and
 * another insertion if both are at the same point.
 */
function overlaps(a: Part, b: Part): boolean {
  if (isEmpty(a) && isEmpty(b)) return a.from === b.from;
  return a.from < b.to && b.from < a.to;
}

/** Writes a region. Returns whether it is a conflict. */
function resolve(output: Output, { stored, incoming }: Region): boolean {
  if (stored.length === 0 || incoming.length === 0) {
    output.apply(stored.length === 0 ? incoming : stored);
    return false;
  }
  let isConflict = false;
  const all: Edit[] = [];
  for (const theirs of stored) {
    const rivals = incoming.filter((ours) => overlaps(theirs, ours));
    if (rivals.some((ours) => isEqual(theirs, ours))) continue;
    isConflict ||= rivals.some((ours) => collide(theirs, ours));
    if (!rivals.some((ours) => bothReplace(theirs, ours))) all.push(theirs);
  }
  all.push(...incoming);
  // An insertion comes before the text that replaces what follows it. The sort is stable: at one
  // point the stored insertion is the first.
  all.sort((a, b) => a.from - b.from || Number(!isEmpty(a)) - Number(!isEmpty(b)));
  output.apply(all);
  return isConflict;
}

function isEqual(a: Edit, b: Edit): boolean {
  return a.from === b.from && a.to === b.to && a.insert.join('') === b.insert.join('');
}

/** Whether both replace text by other text: only one can be applied. */
function bothReplace(a: Edit, b: Edit): boolean {
  return !isEmpty(a) && !isEmpty(b) && a.insert.length > 0 && b.insert.length > 0;
}

/** Two deletions that overlap, and two insertions at one point, are no conflict. */
function collide(a: Edit, b: Edit): boolean {
  const bothDelete = a.insert.length === 0 && b.insert.length === 0;
  return !bothDelete && !(isEmpty(a) && isEmpty(b));
}

/** The merged text, written from start to end. */
class Output {
  text = '';
  readonly #base: readonly string[];
  /** The first token of the base that was neither written nor deleted. */
  #at = 0;

  constructor(base: readonly string[]) {
    this.#base = base;
  }

  /** Writes the base up to this token, unless it was deleted. */
  keepTo(end: number): void {
    if (this.#at >= end) return;
    this.#write(this.#base.slice(this.#at, end).join(''));
    this.#at = end;
  }

  /** Applies edits that are sorted by their starts. What one of them deletes is deleted. */
  apply(edits: readonly Edit[]): void {
    for (const edit of edits) {
      this.keepTo(edit.from);
      this.#write(edit.insert.join(''));
      this.#at = Math.max(this.#at, edit.to);
    }
  }

  /** A space is added where two words of different texts would become one. */
  #write(text: string): void {
    this.text += wouldJoinWords(this.text, text) ? ` ${text}` : text;
  }
}

/** A part of the base with edits applied. */
function applied(base: readonly string[], part: Part, edits: readonly Edit[]): string {
  const out: string[] = [];
  let at = part.from;
  for (const edit of edits) {
    out.push(...base.slice(at, edit.from), ...edit.insert);
    at = edit.to;
  }
  out.push(...base.slice(at, part.to));
  return out.join('');
}
