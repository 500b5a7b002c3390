// What can be written at a place of a JSON text: names of members, and values. The text before the
// cursor may be broken, since it is being typed.

import { fieldOf, isObject, type Json } from './schema';

export interface JsonPlace {
  /** The members and indexes from the root to the value at the cursor. */
  path: (string | number)[];
  /** Whether a name of a member is written here, or a value. */
  expects: 'name' | 'value';
  /** Where the word at the cursor begins, with its quote. */
  from: number;
  /** Names that the object around the cursor has already before it. */
  used: string[];
}

export interface Suggestion {
  /** As it is shown. */
  label: string;
  /** As it is inserted. */
  insert: string;
  about: string;
}

interface Frame {
  isObject: boolean;
  index: number;
  name: string | null;
  used: string[];
}

/** The place at an offset of a text; `null` inside of something that cannot be completed. */
export function placeAt(text: string, offset: number): JsonPlace | null {
  const frames: Frame[] = [];
  let state: 'value' | 'name' | 'colon' | 'after' = 'value';
  let at = 0;
  while (at < offset) {
    const character = text[at] ?? '';
    const top = frames.at(-1);
    if (character === '"') {
      const end = stringEnd(text, at, offset);
      if (end === null) return state === 'name' || state === 'value' ? found(frames, state, at) : null;
      if (state === 'name' && top) {
        top.name = unquoted(text.slice(at, end));
        top.used.push(top.name);
        state = 'colon';
      } else state = 'after';
      at = end;
      continue;
    }
    if (/[\w.+-]/.test(character)) {
      const start = at;
      while (at < offset && /[\w.+-]/.test(text[at] ?? '')) at += 1;
      if (at >= offset) return state === 'name' || state === 'value' ? found(frames, state, start) : null;
      if (state === 'value') state = 'after';
      continue;
    }
    if (character === '{') {
      frames.push({ isObject: true, index: 0, name: null, used: [] });
      state = 'name';
    } else if (character === '[') {
      frames.push({ isObject: false, index: 0, name: null, used: [] });
      state = 'value';
    } else if (character === '}' || character === ']') {
      frames.pop();
      state = 'after';
    } else if (character === ',' && top) {
      if (!top.isObject) top.index += 1;
      state = top.isObject ? 'name' : 'value';
    } else if (character === ':') state = 'value';
    at += 1;
  }
  return state === 'name' || state === 'value' ? found(frames, state, offset) : null;
}

function found(frames: readonly Frame[], expects: 'name' | 'value', from: number): JsonPlace {
  const around = expects === 'name' ? frames.slice(0, -1) : frames;
  const path = around.map((frame) => (frame.isObject ? (frame.name ?? '') : frame.index));
  return { path, expects, from, used: expects === 'name' ? (frames.at(-1)?.used ?? []) : [] };
}

/** The offset after a string, or `null` if the cursor is inside of it. */
function stringEnd(text: string, start: number, offset: number): number | null {
  for (let at = start + 1; at < offset; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
    else if (text[at] === '\n') return at;
  }
  return null;
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1);
  }
}

/** What the schema offers at a place. */
export function suggestionsAt(place: JsonPlace, schema: Json): Suggestion[] {
  const schemas = schemasAt([schema], place.path, schema);
  const all = schemas.flatMap((one) => (place.expects === 'name' ? names(one, schema, place.used) : values(one, schema)));
  return all.filter((one, at) => all.findIndex((other) => other.label === one.label) === at);
}

/** All schemas that a value at a path may have. */
function schemasAt(schemas: Json[], path: readonly (string | number)[], root: Json): Json[] {
  let now = schemas;
  for (const step of path) now = now.flatMap((schema) => inside(schema, step, root, 0));
  return now;
}

function inside(schema: Json, step: string | number, root: Json, depth: number): Json[] {
  if (depth > 8) return [];
  const { shape } = fieldOf(schema, root);
  if (shape.kind === 'union') return shape.variants.flatMap((variant) => inside(variant.schema, step, root, depth + 1));
  if (shape.kind === 'array' && typeof step === 'number') return [step < shape.first.length ? shape.first[step] : shape.items];
  if (shape.kind !== 'object' || typeof step !== 'string') return [];
  const property = shape.properties.find(([name]) => name === step);
  if (property) return [property[1]];
  return isObject(shape.others) ? [shape.others] : [];
}

function names(schema: Json, root: Json, used: readonly string[], depth = 0): Suggestion[] {
  const { shape } = fieldOf(schema, root);
  if (shape.kind === 'union' && depth < 8) return shape.variants.flatMap((variant) => names(variant.schema, root, used, depth + 1));
  if (shape.kind !== 'object') return [];
  return shape.properties
    .filter(([name]) => !used.includes(name))
    .map(([name, property]) => ({
      label: name,
      insert: JSON.stringify(name),
      about: (shape.required.has(name) ? 'required ' : '') + about(property, root),
    }));
}

function about(schema: Json, root: Json): string {
  const { shape, description } = fieldOf(schema, root);
  return description.split('\n')[0] || shape.kind;
}

function values(schema: Json, root: Json, depth = 0): Suggestion[] {
  const { shape, isNullable } = fieldOf(schema, root);
  const isNull = isNullable ? [literal('null')] : [];
  switch (shape.kind) {
    case 'choice':
      return [...shape.options.map(({ value, label, about }) => ({ label, insert: JSON.stringify(value), about })), ...isNull];
    case 'boolean':
      return [literal('true'), literal('false'), ...isNull];
    case 'null':
      return [literal('null')];
    case 'union':
      return depth > 8 ? [] : [...shape.variants.flatMap((variant) => values(variant.schema, root, depth + 1)), ...isNull];
    case 'object':
      return [literal('{}'), ...isNull];
    case 'array':
      return [literal('[]'), ...isNull];
    default:
      return isNull;
  }
}

function literal(text: string): Suggestion {
  return { label: text, insert: text, about: '' };
}
