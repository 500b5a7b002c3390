// Whether a value fits a schema. The runtime decides; this only helps while typing, so what it does
// not understand is no problem.

import { fieldOf, isObject, resolve, type Json, type JsonObject } from './schema';

export type ProblemCode = 'type' | 'missing' | 'value' | 'size' | 'extra' | 'variant';

export interface Problem {
  /** A JSON pointer; empty for the whole value. */
  path: string;
  code: ProblemCode;
  message: string;
}

const MAX_PROBLEMS = 50;
const MAX_DEPTH = 40;
/** Longer texts are not tried against a pattern, which could take very long. */
const MAX_MATCHED = 2_000;

export function check(value: Json, schema: Json, root: Json = schema): Problem[] {
  const problems: Problem[] = [];
  try {
    new Checker(root, problems).check(value, schema, '', 0);
  } catch {
    // A schema that cannot be understood does not judge.
  }
  return problems.slice(0, MAX_PROBLEMS);
}

/** A member of a JSON pointer. */
export function pointerTo(path: string, name: string | number): string {
  return `${path}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

class Checker {
  constructor(
    readonly root: Json,
    readonly problems: Problem[],
  ) {}

  #add(path: string, code: ProblemCode, message: string): void {
    this.problems.push({ path, code, message });
  }

  check(value: Json, schema: Json, path: string, depth: number): void {
    if (depth > MAX_DEPTH || this.problems.length > MAX_PROBLEMS) return;
    const found = resolve(schema, this.root);
    if ('note' in found) {
      if (found.note === 'never' && value !== undefined) this.#add(path, 'extra', 'no value is allowed here');
      return;
    }
    const own = found.schema;
    if (value === undefined) return this.#missing(own, path);
    if (own['nullable'] === true && value === null) return;
    if (!this.#hasType(value, own, path)) return;
    this.#constants(value, own, path);
    if (typeof value === 'string') this.#text(value, own, path);
    else if (typeof value === 'number') this.#number(value, own, path);
    else if (Array.isArray(value)) this.#array(value, own, path, depth);
    else if (isObject(value)) this.#object(value, own, path, depth);
    this.#variants(value, own, path, depth);
  }

  #missing(own: JsonObject, path: string): void {
    const isAnything = Object.keys(own).every((name) => name === 'description' || name === 'title' || name.startsWith('$'));
    if (path === '' && !isAnything && fieldOf(own, this.root).shape.kind !== 'json') this.#add(path, 'missing', 'the input is missing');
  }

  #hasType(value: Json, own: JsonObject, path: string): boolean {
    const { type } = own;
    const types = (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string');
    if (types.length === 0 || types.some((one) => isOfType(value, one))) return true;
    this.#add(path, 'type', `${typeName(value)} is not ${types.map(article).join(' or ')}`);
    return false;
  }

  #constants(value: Json, own: JsonObject, path: string): void {
    if ('const' in own && !isSame(value, own['const'])) this.#add(path, 'value', `only ${JSON.stringify(own['const'])} is allowed`);
    const values = own['enum'];
    if (Array.isArray(values) && !values.some((one) => isSame(one, value))) {
      this.#add(path, 'value', `only ${values.slice(0, 6).map((one) => JSON.stringify(one)).join(', ')}${values.length > 6 ? ', …' : ''} is allowed`);
    }
  }

  #text(value: string, own: JsonObject, path: string): void {
    const length = [...value].length;
    const { minLength, maxLength, pattern } = own;
    if (typeof minLength === 'number' && length < minLength) this.#add(path, 'size', `${length} characters, at least ${minLength} are needed`);
    if (typeof maxLength === 'number' && length > maxLength) this.#add(path, 'size', `${length} characters, at most ${maxLength} are allowed`);
    if (typeof pattern === 'string' && length <= MAX_MATCHED && !isMatch(pattern, value)) this.#add(path, 'value', `it does not match ${pattern}`);
  }

  #number(value: number, own: JsonObject, path: string): void {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = own;
    if (typeof minimum === 'number' && value < minimum) this.#add(path, 'value', `${value} is below ${minimum}`);
    if (typeof maximum === 'number' && value > maximum) this.#add(path, 'value', `${value} is above ${maximum}`);
    if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) this.#add(path, 'value', `${value} is not above ${exclusiveMinimum}`);
    if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) this.#add(path, 'value', `${value} is not below ${exclusiveMaximum}`);
    if (typeof multipleOf !== 'number' || multipleOf <= 0) return;
    const times = value / multipleOf;
    if (Math.abs(times - Math.round(times)) > 1e-9) this.#add(path, 'value', `${value} is not a multiple of ${multipleOf}`);
  }

  #array(value: Json[], own: JsonObject, path: string, depth: number): void {
    const { minItems, maxItems, prefixItems, items } = own;
    if (typeof minItems === 'number' && value.length < minItems) this.#add(path, 'size', `${value.length} entries, at least ${minItems} are needed`);
    if (typeof maxItems === 'number' && value.length > maxItems) this.#add(path, 'size', `${value.length} entries, at most ${maxItems} are allowed`);
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
    const rest = Array.isArray(items) ? own['additionalItems'] : items;
    for (const [at, item] of value.entries()) {
      const schema: Json = at < first.length ? first[at] : rest;
      if (schema !== undefined) this.check(item, schema, pointerTo(path, at), depth + 1);
    }
  }

  #object(value: JsonObject, own: JsonObject, path: string, depth: number): void {
    const properties = isObject(own['properties']) ? own['properties'] : {};
    const required = Array.isArray(own['required']) ? own['required'].map(String) : [];
    for (const name of required) {
      if (value[name] === undefined) this.#add(pointerTo(path, name), 'missing', `${name} is missing`);
    }
    const others = own['additionalProperties'];
    const patterns = isObject(own['patternProperties']) ? Object.keys(own['patternProperties']) : [];
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      const at = pointerTo(path, name);
      if (Object.hasOwn(properties, name)) this.check(member, properties[name], at, depth + 1);
      else if (patterns.some((pattern) => isMatch(pattern, name))) continue;
      else if (others === false) this.#add(at, 'extra', `${name} is not in the schema`);
      else if (isObject(others)) this.check(member, others, at, depth + 1);
    }
  }

  #variants(value: Json, own: JsonObject, path: string, depth: number): void {
    for (const name of ['anyOf', 'oneOf']) {
      const variants = own[name];
      if (!Array.isArray(variants) || variants.length === 0) continue;
      let least: Problem[] | null = null;
      for (const variant of variants) {
        const found: Problem[] = [];
        new Checker(this.root, found).check(value, variant, path, depth + 1);
        if (found.length === 0) {
          least = null;
          break;
        }
        if (!least || weight(found, path) < weight(least, path)) least = found;
      }
      if (!least) continue;
      const isAll = least.some((problem) => problem.path === path);
      if (isAll) this.#add(path, 'variant', 'it is none of the allowed forms');
      else this.problems.push(...least);
    }
  }
}

/** How far a value is from a variant: a wrong type of the whole is the farthest. */
function weight(problems: readonly Problem[], path: string): number {
  return problems.length + (problems.some((problem) => problem.path === path) ? 1_000 : 0);
}

function isOfType(value: Json, type: Json): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      // The form shows a JSON field for a type that nobody knows.
      return true;
  }
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'this text';
  return typeof value === 'number' ? String(value) : article(typeof value);
}

function article(type: Json): string {
  const names: Record<string, string> = {
    string: 'a text',
    number: 'a number',
    integer: 'a whole number',
    boolean: 'true or false',
    object: 'an object',
    array: 'a list',
    null: 'null',
  };
  return names[String(type)] ?? String(type);
}

function isMatch(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

export function isSame(a: Json, b: Json): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => isSame(one, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]));
}
