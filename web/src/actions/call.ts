// A call of an action: its input and all that goes with it. Inputs are never in the URL: drafts are
// in the storage of the tab, the history in that of the browser.

import { parseJson, writeJson } from '../form/json_text';
import { isObject } from '../form/schema';

export interface Label {
  name: string;
  value: string;
}

export interface CallOptions {
  /** The context as it was typed. */
  context: string;
  labels: Label[];
  /** Seconds, as they were typed. */
  timeout: string;
}

/** An input as it is edited: as text, and as the last value that the text or the form had. */
export interface Draft extends CallOptions {
  text: string;
  value: unknown;
}

export interface PastCall {
  /** When it was run, in milliseconds since 1970. */
  at: number;
  /** The input as JSON; empty if there was none. */
  input: string;
  status: 'done' | 'failed' | 'stopped';
  milliseconds: number;
  traceId: string | null;
  /** The message of the error. */
  error?: string;
}

export interface SavedCall extends CallOptions {
  name: string;
  input: string;
}

export interface Calls {
  past: PastCall[];
  saved: SavedCall[];
}

/** Maximum number of inputs that are kept for an action; older ones are forgotten. */
export const MAX_PAST = 20;
/** Maximum number of saved calls of an action. */
export const MAX_SAVED = 30;
/** Maximum number of actions with a history; those that were not used for the longest time are forgotten. */
export const MAX_ACTIONS = 60;
/** Maximum length of an input that is kept, in characters. Media are often longer. */
export const MAX_INPUT = 20_000;

const CALLS = 'oxikit.calls.';
const ORDER = 'oxikit.calls';
const DRAFT = 'oxikit.draft.';

type Store = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

export function emptyDraft(): Draft {
  return { text: '', value: undefined, context: '', labels: [], timeout: '' };
}

/** The draft of an action; `null` if there is none. */
export function readDraft(store: Store, key: string): Draft | null {
  const stored = readObject(store, DRAFT + key);
  if (!stored) return null;
  const text = typeof stored['text'] === 'string' ? stored['text'] : writeJson(stored['value']);
  return { text, value: stored['value'], ...optionsOf(stored) };
}

export function writeDraft(store: Store, key: string, draft: Draft): void {
  write(store, DRAFT + key, draft);
}

export function readCalls(store: Store, key: string): Calls {
  const stored = readObject(store, CALLS + key) ?? {};
  const list = <T>(value: unknown, isOne: (entry: Record<string, unknown>) => boolean): T[] =>
    Array.isArray(value) ? (value.filter((entry) => isObject(entry) && isOne(entry)) as T[]) : [];
  return {
    past: list<PastCall>(stored['past'], (entry) => typeof entry['input'] === 'string' && typeof entry['at'] === 'number'),
    saved: list<Record<string, unknown>>(stored['saved'], (entry) => typeof entry['input'] === 'string' && typeof entry['name'] === 'string').map(
      (entry) => ({ name: String(entry['name']), input: String(entry['input']), ...optionsOf(entry) }),
    ),
  };
}

/** Adds a call to the history. The same input is kept once. */
export function rememberCall(store: Store, key: string, call: PastCall): Calls {
  const calls = readCalls(store, key);
  if (call.input.length > MAX_INPUT) return calls;
  const past = [call, ...calls.past.filter((other) => other.input !== call.input)].slice(0, MAX_PAST);
  return writeCalls(store, key, { ...calls, past });
}

/** Saves a call under a name. One of the same name is replaced. */
export function saveCall(store: Store, key: string, call: SavedCall): Calls {
  const calls = readCalls(store, key);
  const saved = [call, ...calls.saved.filter((other) => other.name !== call.name)].slice(0, MAX_SAVED);
  return writeCalls(store, key, { ...calls, saved });
}

export function forgetSaved(store: Store, key: string, name: string): Calls {
  const calls = readCalls(store, key);
  return writeCalls(store, key, { ...calls, saved: calls.saved.filter((call) => call.name !== name) });
}

export function forgetPast(store: Store, key: string): Calls {
  return writeCalls(store, key, { ...readCalls(store, key), past: [] });
}

function writeCalls(store: Store, key: string, calls: Calls): Calls {
  const order = readList(store, ORDER).filter((other) => other !== key);
  const isEmpty = calls.past.length === 0 && calls.saved.length === 0;
  const next = isEmpty ? order : [key, ...order];
  for (const old of next.slice(MAX_ACTIONS)) {
    // Saved calls are kept: a person has made them on purpose.
    const { saved } = readCalls(store, old);
    if (saved.length > 0) write(store, CALLS + old, { past: [], saved });
    else store.removeItem(CALLS + old);
  }
  write(store, ORDER, next.slice(0, MAX_ACTIONS));
  if (isEmpty) store.removeItem(CALLS + key);
  else write(store, CALLS + key, calls);
  return calls;
}

/** The context of the options: an object, nothing, or `null` if it is none. */
export function contextOf(text: string): Record<string, unknown> | undefined | null {
  if (text.trim() === '') return undefined;
  const parsed = parseJson(text);
  return parsed.ok && isObject(parsed.value) ? parsed.value : null;
}

export function labelsOf(labels: readonly Label[]): Record<string, string> | undefined {
  const used = labels.filter(({ name }) => name.trim() !== '');
  return used.length > 0 ? Object.fromEntries(used.map(({ name, value }) => [name.trim(), value])) : undefined;
}

/** Seconds, or `null` if there is no timeout. */
export function timeoutOf(text: string): number | null {
  const seconds = Number(text.trim().replace(',', '.'));
  return text.trim() !== '' && Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

/** One line about an input, for lists. */
export function aboutInput(input: string): string {
  const parsed = parseJson(input);
  if (!parsed.ok) return input.trim();
  return lineOf(parsed.value).replace(/\s+/g, ' ').slice(0, 200);
}

function lineOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (isObject(value) && Array.isArray(value['messages'])) {
    const last: unknown = value['messages'].at(-1);
    const content = isObject(last) && Array.isArray(last['content']) ? last['content'] : [];
    const text = content.map((part: unknown) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('');
    if (text) return text;
  }
  return JSON.stringify(value) ?? '';
}

function optionsOf(stored: Record<string, unknown>): CallOptions {
  const labels = Array.isArray(stored['labels']) ? stored['labels'] : [];
  return {
    context: typeof stored['context'] === 'string' ? stored['context'] : '',
    timeout: typeof stored['timeout'] === 'string' ? stored['timeout'] : '',
    labels: labels.filter(isObject).map((label) => ({ name: String(label['name'] ?? ''), value: String(label['value'] ?? '') })),
  };
}

function readObject(store: Store, name: string): Record<string, unknown> | null {
  try {
    const stored: unknown = JSON.parse(store.getItem(name) ?? 'null');
    return isObject(stored) ? stored : null;
  } catch {
    return null;
  }
}

function readList(store: Store, name: string): string[] {
  try {
    const stored: unknown = JSON.parse(store.getItem(name) ?? '[]');
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string') : [];
  } catch {
    return [];
  }
}

/** The storage may be full or forbidden: then a draft lives only as long as the page. */
function write(store: Store, name: string, value: unknown): void {
  try {
    store.setItem(name, JSON.stringify(value));
  } catch {
    store.removeItem(name);
  }
}
