// Values that a form starts with, and which variant of a union a value is.

import { check, type Problem } from './check';
import { fieldOf, isObject, type Json, type Variant } from './schema';

/** Maximum depth to which required members are made in advance. A recursive schema has no end. */
const MAX_DEPTH = 5;

/** A first value for a schema: its default, or the least that has the right type. */
export function firstValue(schema: Json, root: Json, depth = 0): Json {
  const { shape, isNullable, schema: own } = fieldOf(schema, root);
  if (own['default'] !== undefined) return structuredClone(own['default']);
  switch (shape.kind) {
    case 'text':
      return '';
    case 'number':
      return typeof own['minimum'] === 'number' && own['minimum'] > 0 ? own['minimum'] : 0;
    case 'boolean':
      return false;
    case 'null':
      return null;
    case 'choice':
      return structuredClone(shape.options[0]?.value);
    case 'object':
      return depth >= MAX_DEPTH ? {} : Object.fromEntries(requiredMembers(shape.properties, shape.required, root, depth));
    case 'array':
      return depth >= MAX_DEPTH ? [] : shape.first.map((item) => firstValue(item, root, depth + 1) ?? null);
    case 'union':
      return depth >= MAX_DEPTH ? null : firstValue(shape.variants[0]?.schema, root, depth + 1);
    case 'json':
      return isNullable ? null : undefined;
  }
}

function requiredMembers(
  properties: readonly [string, Json][],
  required: ReadonlySet<string>,
  root: Json,
  depth: number,
): [string, Json][] {
  return properties
    .filter(([name]) => required.has(name))
    .map(([name, schema]): [string, Json] => [name, firstValue(schema, root, depth + 1)])
    .filter(([, value]) => value !== undefined);
}

/** The variant that a value belongs to: the first without problems, else the one with the fewest. */
export function variantOf(value: Json, variants: readonly Variant[], root: Json): number {
  if (value === undefined) return -1;
  let best = -1;
  let least = Infinity;
  for (const [at, variant] of variants.entries()) {
    const problems = check(value, variant.schema, root);
    if (problems.length === 0) return at;
    const weight = problems.reduce((sum, problem) => sum + weightOf(problem), 0);
    if (weight < least) [best, least] = [at, weight];
  }
  return best;
}

/** How much a problem says that a value was meant for another variant. */
function weightOf({ path, code }: Problem): number {
  if (code === 'type') return path === '' ? 1_000 : 1;
  return code === 'missing' ? 3 : code === 'value' ? 5 : 1;
}

/** The object with a member set, in its place; `undefined` removes the member. */
export function withMember(value: Json, name: string, member: Json): Json {
  const own = isObject(value) ? value : {};
  if (member !== undefined) return { ...own, [name]: member };
  const { [name]: _, ...rest } = own;
  return rest;
}

/** The object with a member under another name, in the same place. */
export function withName(value: Json, from: string, to: string): Json {
  if (!isObject(value) || Object.hasOwn(value, to)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name === from ? to : name, member]));
}

/** Members of a value that its schema does not name. */
export function otherMembers(value: Json, properties: readonly [string, Json][]): string[] {
  if (!isObject(value)) return [];
  const known = new Set(properties.map(([name]) => name));
  return Object.keys(value).filter((name) => !known.has(name));
}

/** The number that a person has typed. What is none is kept as text: nothing typed is lost. */
export function numberOf(text: string): Json {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const number = Number(trimmed.replace(',', '.'));
  return Number.isFinite(number) && !/^0[xob]/i.test(trimmed) ? number : text;
}

/** A name for a new member. */
export function newName(value: Json): string {
  const own = isObject(value) ? value : {};
  for (let at = 1; ; at += 1) {
    const name = at === 1 ? 'name' : `name${at}`;
    if (!Object.hasOwn(own, name)) return name;
  }
}
