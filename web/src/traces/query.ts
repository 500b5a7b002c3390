// The query line of the list: `status:error duration:>1s "green tea"`. Most terms become parameters
// of the API; the others are checked by the page for each row that it has read.

import type { TraceInfo } from '../api/tools_types';

export interface Term {
  /** As it was typed. */
  text: string;
  /** The name before the colon; empty for words to search for. */
  name: string;
  value: string;
  isNegated: boolean;
  /** Why the term cannot be used. */
  problem: string | null;
}

export interface Filter {
  /** Parameters of `GET /api/v1/traces`. */
  parameters: [string, string][];
  /** What the API cannot filter. */
  matches: (trace: TraceInfo) => boolean;
  /** Whether the page checks rows itself. */
  isPartial: boolean;
}

interface Range {
  from?: number;
  to?: number;
}

export const NAMES = ['status', 'kind', 'name', 'time', 'duration', 'tokens', 'session', 'runtime', 'attribute'] as const;
type Name = (typeof NAMES)[number];

/** Examples of values, for completion. */
const VALUES: Record<Name, readonly string[]> = {
  status: ['error', 'running', 'success'],
  kind: ['agent', 'flow', 'model', 'prompt', 'tool', 'evaluator', 'embedder', 'retriever'],
  name: [],
  time: ['15m', '1h', '24h', '7d'],
  duration: ['>1s', '>100ms', '<10ms', '1s..5s'],
  tokens: ['>1000', '>100', '<10'],
  session: [],
  runtime: [],
  attribute: ['genkit:name=', 'genkit:key='],
};

const UNITS: Record<string, number> = { us: 0.001, µs: 0.001, ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** Splits a query at spaces outside of quotes. */
export function parseQuery(text: string): Term[] {
  const words = text.match(/(?:"[^"]*"?|[^\s"])+/g) ?? [];
  return words.map(parseTerm);
}

function parseTerm(text: string): Term {
  const match = /^(-?)([a-z]+):(.*)$/s.exec(text);
  const isKnown = match !== null && (NAMES as readonly string[]).includes(match[2] ?? '');
  if (match === null || !isKnown) {
    return { text, name: '', value: unquoted(text), isNegated: false, problem: null };
  }
  const term = { text, name: match[2] ?? '', value: unquoted(match[3] ?? ''), isNegated: match[1] === '-', problem: null };
  return { ...term, problem: problemOf(term) };
}

const unquoted = (text: string): string => text.replaceAll('"', '');

function problemOf({ name, value, isNegated }: Term): string | null {
  if (value === '') return 'needs a value';
  if (isNegated && ['session', 'runtime', 'attribute'].includes(name)) return 'cannot be negated';
  if (name === 'status' && !VALUES.status.includes(value)) return 'is error, running or success';
  if (name === 'duration' && rangeOf(value, durationOf) === null) return 'is a time such as >1s, <10ms or 1s..5s';
  if (name === 'tokens' && rangeOf(value, countOf) === null) return 'is a number such as >1000';
  if (name === 'time' && timeRange(value, 0) === null) return 'is an age such as 1h, or times such as 07:30..08:00';
  if (name === 'attribute' && !/^[^=]+=/.test(value)) return 'is name=value';
  return null;
}

/** `>1s`, `<1s`, `1s..2s`, or one value. */
function rangeOf(text: string, read: (text: string) => number | null): Range | null {
  const span = text.split('..');
  if (span.length === 2) {
    const [from, to] = span.map((end) => (end === '' ? undefined : read(end)));
    if (from === null || to === null || (from === undefined && to === undefined)) return null;
    return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  }
  const value = read(text.replace(/^[<>]=?/, ''));
  if (value === null) return null;
  if (text.startsWith('>')) return { from: value };
  return text.startsWith('<') ? { to: value } : { from: value, to: value };
}

function countOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

function durationOf(text: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(us|µs|ms|s|min|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * (UNITS[match[2] ?? ''] ?? 1) : null;
}

/** An age (`1h`), or times of today (`07:30`), or dates. */
function timeRange(text: string, now: number): Range | null {
  const ago = durationOf(text.replace(/^</, ''));
  if (ago !== null) return { from: now - ago };
  return rangeOf(text, (one) => momentOf(one, now));
}

function momentOf(text: string, now: number): number | null {
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text);
  if (clock) return new Date(now).setHours(Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0), 0);
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text.length === 10 ? `${text}T00:00` : text) : NaN;
  return Number.isNaN(at) ? null : at;
}

/** What the terms ask for; terms with a problem are left out. */
export function filterOf(terms: readonly Term[], now: number): Filter {
  const parameters = new Map<string, string[]>();
  const checks: ((trace: TraceInfo) => boolean)[] = [];
  const set = (name: string, value: string | number): boolean => {
    if (parameters.has(name)) return false;
    parameters.set(name, [String(value)]);
    return true;
  };
  const words: string[] = [];
  for (const term of terms) {
    if (term.problem !== null) continue;
    if (term.name === '') words.push(...wordsOf(term));
    else if (term.name === 'attribute') parameters.set('attribute', [...(parameters.get('attribute') ?? []), term.value]);
    else if (term.name === 'session' || term.name === 'runtime') set(term.name, term.value);
    else if (term.name === 'time' && !term.isNegated) setRange(set, 'from', 'to', timeRange(term.value, now));
    else if (term.name === 'duration' && !term.isNegated) {
      setRange(set, 'minDuration', 'maxDuration', rangeOf(term.value, durationOf));
    } else if (!isExact(term) || !set(PARAMETERS[term.name] ?? '', term.value)) checks.push(checkOf(term, now));
  }
  if (words.length > 0) set('text', words.join(' '));
  const list = [...parameters].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  return { parameters: list, matches: (trace) => checks.every((check) => check(trace)), isPartial: checks.length > 0 };
}

/** Words in quotes are whole; others may be the beginning of a word. */
function wordsOf({ text, value }: Term): string[] {
  const words = value.split(/\s+/).filter(Boolean);
  return text.startsWith('"') ? words : words.map((word) => (/^[\p{L}\p{N}]{2,}$/u.test(word) ? `${word}*` : word));
}

const PARAMETERS: Record<string, string> = { status: 'status', kind: 'type', name: 'name' };

/** Whether the API has a parameter for exactly this term. */
function isExact({ name, value, isNegated }: Term): boolean {
  return name in PARAMETERS && !isNegated && !/[*,]/.test(value);
}

function setRange(set: (name: string, value: number) => boolean, from: string, to: string, range: Range | null): void {
  if (range?.from !== undefined) set(from, range.from);
  if (range?.to !== undefined) set(to, range.to);
}

function checkOf(term: Term, now: number): (trace: TraceInfo) => boolean {
  const isMatch = positiveCheck(term, now);
  return term.isNegated ? (trace) => !isMatch(trace) : isMatch;
}

function positiveCheck({ name, value }: Term, now: number): (trace: TraceInfo) => boolean {
  if (name === 'tokens') return within(rangeOf(value, countOf), ({ usage }) => usage.totalTokens ?? 0);
  if (name === 'duration') return within(rangeOf(value, durationOf), ({ duration }) => duration ?? 0);
  if (name === 'time') return within(timeRange(value, now), ({ startTime }) => startTime);
  const wanted = value.split(',').map(pattern);
  const read = (trace: TraceInfo): string => (name === 'status' ? trace.status : name === 'kind' ? (trace.type ?? '') : trace.name);
  return (trace) => wanted.some((one) => one.test(read(trace)));
}

function within(range: Range | null, read: (trace: TraceInfo) => number): (trace: TraceInfo) => boolean {
  const { from = -Infinity, to = Infinity } = range ?? {};
  return (trace) => read(trace) >= from && read(trace) <= to;
}

/** A pattern in which `*` stands for any characters. */
function pattern(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i');
}

/** Values that the page has seen, for completion. */
export interface Seen {
  /** Names of traces. */
  name: readonly string[];
  /** Names and ids of runtimes. */
  runtime: readonly string[];
}

/** Completions of the word that is typed: names, then values. */
export function completions(word: string, seen: Seen): string[] {
  const match = /^(-?)([a-z]+):(.*)$/.exec(word);
  if (!match) {
    const start = word.replace(/^-/, '');
    if (start === '') return [];
    const minus = word.startsWith('-') ? '-' : '';
    return NAMES.filter((name) => name.startsWith(start)).map((name) => `${minus}${name}:`);
  }
  const [, minus = '', name = '', start = ''] = match;
  const values = name === 'name' || name === 'runtime' ? seen[name] : (VALUES[name as Name] ?? []);
  const lower = start.toLowerCase();
  const found = values.filter((value) => value.toLowerCase().startsWith(lower) && value !== start);
  return found.slice(0, 8).map((value) => `${minus}${name}:${/\s/.test(value) ? `"${value}"` : value}`);
}

/** The terms as one text. */
export function queryText(terms: readonly Term[]): string {
  return terms.map(({ text }) => text).join(' ');
}

/** The same on the command line, as far as it has the options. */
export function commandWords(terms: readonly Term[]): string[] {
  const options: Record<string, string> = { status: '--status', kind: '--type', name: '--name', session: '--session', runtime: '--runtime' };
  const words = terms.filter(({ name }) => name === '').map(({ value }) => value);
  const named = terms
    .filter((term) => term.problem === null && (isExact(term) || ['session', 'runtime'].includes(term.name)) && !term.isNegated)
    .flatMap(({ name, value }) => [options[name] ?? '', value]);
  return words.length > 0 ? [...named, '--text', words.join(' ')] : named;
}
