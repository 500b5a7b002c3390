// The lines of a JSON value: which parts are open, which are on one line, which are paged.

export type Segment = string | number;
export type Path = readonly Segment[];

export interface Line {
  /** The path as a JSON Pointer; empty for the whole value. */
  pointer: string;
  path: Path;
  depth: number;
  /** The name of the member, or the index of the element; `null` for the whole value. */
  name: Segment | null;
  value: unknown;
  /**
   * `leaf`: a scalar. `inline`: a short container on one line. `open` and `folded`: a container.
   * `more`: elements that are not shown yet.
   */
  form: 'leaf' | 'inline' | 'open' | 'folded' | 'more';
  /** The number of members of a container, or of those that a `more` line stands for. */
  count: number;
}

export interface View {
  isOpen: (pointer: string) => boolean;
  /** The number of members that are shown of a container. */
  shown: (pointer: string) => number;
}

/** Members that are shown of one container before "more". */
export const PAGE = 100;
/** Lines that are shown without a click. */
const MAX_LINES = 20;
/** Levels that are open without a click. */
const MAX_DEPTH = 2;
/** Characters of a container that is shown on one line. */
const MAX_INLINE = 60;

export function isContainer(value: unknown): value is Record<string, unknown> | readonly unknown[] {
  return typeof value === 'object' && value !== null;
}

/** The number of members or elements. */
export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isContainer(value) ? Object.keys(value).length : 0;
}

/** Members with their names, at most `limit`. */
export function membersOf(value: unknown, limit = Infinity): [Segment, unknown][] {
  if (Array.isArray(value)) return value.slice(0, limit).map((one, index) => [index, one]);
  if (!isContainer(value)) return [];
  const entries = Object.entries(value);
  return limit < entries.length ? entries.slice(0, limit) : entries;
}

/** A part of a JSON Pointer. */
export function pointerPart(segment: Segment): string {
  return `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function pointerOf(path: Path): string {
  return path.map(pointerPart).join('');
}

/** A path as code writes it: `messages[0].content`, and `$` for the whole value. */
export function pathText(path: Path): string {
  const text = path
    .map((segment) => {
      if (typeof segment === 'number') return `[${segment}]`;
      return /^[A-Za-z_$][\w$]*$/.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
    })
    .join('');
  return text.replace(/^\./, '') || '$';
}

/** The container on one line, if it is short and has no containers in it. */
export function inlineText(value: unknown): string | null {
  const size = sizeOf(value);
  if (size === 0) return Array.isArray(value) ? '[]' : '{}';
  if (size > 8) return null;
  const members = membersOf(value);
  if (members.some(([, one]) => isContainer(one) && sizeOf(one) > 0)) return null;
  if (members.some(([, one]) => typeof one === 'string' && one.length > MAX_INLINE)) return null;
  const parts = members.map(([name, one]) => {
    const text = JSON.stringify(one) ?? 'null';
    return typeof name === 'number' ? text : `${JSON.stringify(name)}: ${text}`;
  });
  const text = Array.isArray(value) ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
  return text.length <= MAX_INLINE && !text.includes('\\n') ? text : null;
}

/** The containers that are open at first: two levels, as long as there are at most 20 lines. */
export function openAtFirst(value: unknown): Set<string> {
  const open = new Set<string>();
  if (!isContainer(value)) return open;
  open.add('');
  let lines = 1 + Math.min(sizeOf(value), PAGE);
  let level: [string, unknown][] = [['', value]];
  for (let depth = 1; depth <= MAX_DEPTH; depth += 1) {
    const next: [string, unknown][] = [];
    for (const [pointer, container] of level) {
      for (const [name, one] of membersOf(container, PAGE)) {
        if (!isContainer(one) || inlineText(one) !== null) continue;
        if (lines + sizeOf(one) > MAX_LINES) continue;
        const inner = pointer + pointerPart(name);
        open.add(inner);
        lines += sizeOf(one);
        next.push([inner, one]);
      }
    }
    level = next;
  }
  return open;
}

/** The lines of a value as it is unfolded. */
export function linesOf(value: unknown, view: View): Line[] {
  const lines: Line[] = [];
  add(lines, value, null, [], '', view);
  return lines;
}

function add(lines: Line[], value: unknown, name: Segment | null, path: Path, pointer: string, view: View): void {
  const line = { pointer, path, depth: path.length, name, value, count: sizeOf(value) };
  if (!isContainer(value)) {
    lines.push({ ...line, form: 'leaf' });
    return;
  }
  if (inlineText(value) !== null) {
    lines.push({ ...line, form: 'inline' });
    return;
  }
  if (!view.isOpen(pointer)) {
    lines.push({ ...line, form: 'folded' });
    return;
  }
  lines.push({ ...line, form: 'open' });
  const shown = view.shown(pointer);
  for (const [inner, one] of membersOf(value, shown)) {
    add(lines, one, inner, [...path, inner], pointer + pointerPart(inner), view);
  }
  const rest = line.count - shown;
  if (rest > 0) {
    lines.push({ ...line, pointer: `${pointer}/…`, depth: path.length + 1, name: null, form: 'more', count: rest });
  }
}

/** The first names or elements of a folded container. */
export function previewOf(value: unknown): string {
  const count = sizeOf(value);
  if (Array.isArray(value)) return `[ ${count.toLocaleString('en')} ]`;
  const names = membersOf(value, 4).map(([name]) => String(name));
  const text = names.join(', ');
  const cut = text.length > MAX_INLINE ? `${text.slice(0, MAX_INLINE)}…` : text;
  return count > names.length ? `{ ${cut}, … ${count.toLocaleString('en')} }` : `{ ${cut} }`;
}

/** A string between quotes: line breaks and quotes stay as they are, other controls are escaped. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(/\\(.)/g, (escape, letter: string) => {
    if (letter === 'n') return '\n';
    return letter === '"' ? '"' : escape;
  });
}

/** The JSON of a text, or `null` with the reason if it is none. */
export function parsed(text: string): { value: unknown } | { error: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}
