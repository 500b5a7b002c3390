// The lines of a difference: changed values with their surroundings, runs of equal members folded.

import type { Difference } from './json_diff';
import { inlineText, isContainer, type Segment } from './json_lines';

export type DiffLine =
  | { form: 'text'; key: string; depth: number; mark: '' | '+' | '−' | '~'; name: Segment | null; text: string }
  /** Equal members that are not shown. */
  | { form: 'fold'; key: string; depth: number; count: number };

/** Equal members at each side of a change. */
const AROUND = 2;
/** Characters of a change that is shown on one line. */
const MAX_CHANGE = 60;

/** The lines; equal members of the containers in `opened` are shown. */
export function diffLines(difference: Difference, opened: ReadonlySet<string>): DiffLine[] {
  const lines: DiffLine[] = [];
  visit(lines, difference, 0, '', opened);
  return lines;
}

function visit(lines: DiffLine[], one: Difference, depth: number, key: string, opened: ReadonlySet<string>): void {
  if (one.change === 'inside') {
    const isList = Array.isArray(one.after);
    lines.push({ form: 'text', key, depth, mark: '', name: one.name, text: isList ? '[' : '{' });
    membersInside(lines, one, depth + 1, key, opened);
    lines.push({ form: 'text', key: `${key}/]`, depth, mark: '', name: null, text: isList ? ']' : '}' });
    return;
  }
  if (one.change === 'changed') {
    const change = shortChange(one);
    if (change !== null) {
      lines.push({ form: 'text', key, depth, mark: '~', name: one.name, text: change });
      return;
    }
    whole(lines, one.before, depth, '−', one.name, `${key}-`);
    whole(lines, one.after, depth, '+', one.name, `${key}+`);
    return;
  }
  const mark = one.change === 'added' ? '+' : one.change === 'removed' ? '−' : '';
  if (mark === '') lines.push({ form: 'text', key, depth, mark, name: one.name, text: shortText(one.after) });
  else whole(lines, one.change === 'added' ? one.after : one.before, depth, mark, one.name, key);
}

function membersInside(
  lines: DiffLine[],
  parent: Difference,
  depth: number,
  key: string,
  opened: ReadonlySet<string>,
): void {
  const { members } = parent;
  const isNear = members.map((_, index) =>
    members.slice(Math.max(0, index - AROUND), index + AROUND + 1).some(({ change }) => change !== 'same'),
  );
  for (let index = 0; index < members.length; ) {
    const member = members[index];
    if (!member) break;
    let end = index;
    while (end < members.length && !isNear[end]) end += 1;
    const fold = `${key}/${index}…`;
    if (end - index > 1 && !opened.has(fold)) {
      lines.push({ form: 'fold', key: fold, depth, count: end - index });
      index = end;
    } else {
      const stop = Math.max(end, index + 1);
      for (; index < stop; index += 1) {
        const one = members[index];
        if (one) visit(lines, one, depth, `${key}/${index}`, opened);
      }
    }
  }
}

/** A whole added or removed value, over as many lines as it needs. */
function whole(
  lines: DiffLine[],
  value: unknown,
  depth: number,
  mark: '+' | '−',
  name: Segment | null,
  key: string,
): void {
  const short = isContainer(value) ? inlineText(value) : scalar(value);
  if (short !== null) {
    lines.push({ form: 'text', key, depth, mark, name, text: short });
    return;
  }
  const rows = JSON.stringify(value, null, 1).split('\n');
  rows.forEach((row, index) => {
    const text = row.trimStart();
    const inner = row.length - text.length;
    lines.push({ form: 'text', key: `${key}:${index}`, depth: depth + inner, mark, name: index === 0 ? name : null, text });
  });
}

/** A change of a short scalar, on one line. */
function shortChange({ before, after }: Difference): string | null {
  if (isContainer(before) || isContainer(after)) return null;
  const [left, right] = [scalar(before), scalar(after)];
  return left.length + right.length <= MAX_CHANGE ? `${left} → ${right}` : null;
}

const scalar = (value: unknown): string => JSON.stringify(value) ?? 'undefined';

/** An equal value, on one line. */
function shortText(value: unknown): string {
  if (!isContainer(value)) return scalar(value);
  return inlineText(value) ?? (Array.isArray(value) ? '[ … ]' : '{ … }');
}
