// What a JSON Schema asks for, as a form shows it. A schema is written by others and may be broken:
// each part that a form cannot show becomes a JSON field with a reason, never an error.

export type Json = unknown;
export type JsonObject = Record<string, unknown>;

/** One choice of an enumeration. */
export interface Option {
  value: Json;
  label: string;
  about: string;
}

export interface Variant {
  name: string;
  schema: Json;
}

/** How a field is shown. */
export type Shape =
  | { kind: 'text' }
  | { kind: 'number'; isInteger: boolean }
  | { kind: 'boolean' }
  | { kind: 'null' }
  | { kind: 'choice'; options: Option[] }
  | { kind: 'object'; properties: [string, Json][]; required: ReadonlySet<string>; others: Json }
  | { kind: 'array'; items: Json; first: Json[] }
  | { kind: 'union'; variants: Variant[] }
  /** Any value, as JSON; `note` says why there is no better field. */
  | { kind: 'json'; note: NoteId | null; about: string };

export type NoteId = 'reference' | 'notSchema' | 'type' | 'loop' | 'merge' | 'never';

export interface FieldInfo {
  shape: Shape;
  /** Whether `null` is a value beside those of the shape. */
  isNullable: boolean;
  title: string;
  description: string;
  /** The schema after its references, for hints. */
  schema: JsonObject;
}

/** Maximum number of references that are followed in a row. A longer chain is a loop. */
const MAX_REFERENCES = 32;
const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

export function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The field of a schema. `root` is the document that references are resolved in. */
export function fieldOf(schema: Json, root: Json): FieldInfo {
  const found = resolve(schema, root);
  if ('note' in found) return jsonField(found.note, found.about, isObject(schema) ? schema : {});
  const own = found.schema;
  const nullable = withoutNull(own, root);
  const shape = shapeOf(nullable.schema, root);
  return {
    shape,
    isNullable: nullable.isNullable && shape.kind !== 'null' && shape.kind !== 'json',
    title: textOf(own['title']),
    description: textOf(own['description']) || textOf(nullable.schema['description']),
    schema: nullable.schema,
  };
}

type Resolved = { schema: JsonObject } | { note: NoteId; about: string };

/** Follows references, and merges `allOf`. Members beside a `$ref` win over those behind it. */
export function resolve(schema: Json, root: Json): Resolved {
  let own: Json = schema;
  let beside: JsonObject = {};
  for (let count = 0; ; count += 1) {
    if (own === true || own === undefined) return { schema: beside };
    if (own === false) return { note: 'never', about: '' };
    if (!isObject(own)) return { note: 'notSchema', about: textOf(JSON.stringify(own)) };
    const { $ref: reference, ...rest } = own;
    beside = { ...rest, ...beside };
    if (reference === undefined) break;
    if (typeof reference !== 'string') return { note: 'reference', about: textOf(JSON.stringify(reference)) };
    if (count >= MAX_REFERENCES) return { note: 'loop', about: reference };
    const target = pointed(root, reference);
    if (target === undefined) return { note: 'reference', about: reference };
    own = target;
  }
  return Array.isArray(beside['allOf']) ? merged(beside, beside['allOf'], root) : { schema: beside };
}

/** The part of a document that a reference such as `#/$defs/Node` names. */
export function pointed(root: Json, reference: string): Json {
  if (reference === '#' || reference === '') return root;
  if (!reference.startsWith('#')) return undefined;
  const fragment = reference.slice(1);
  if (!fragment.startsWith('/')) return anchored(root, fragment);
  let at: Json = root;
  for (const raw of fragment.slice(1).split('/')) {
    const name = decoded(raw).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isObject(at) && Object.hasOwn(at, name)) at = at[name];
    else return undefined;
  }
  return at;
}

/** A definition with `$anchor` or `$id` of this name. */
function anchored(root: Json, name: string): Json {
  if (!isObject(root)) return undefined;
  for (const group of [root['$defs'], root['definitions']]) {
    if (!isObject(group)) continue;
    const found = Object.values(group).find((one) => isObject(one) && (one['$anchor'] === name || one['$id'] === `#${name}`));
    if (found !== undefined) return found;
  }
  return undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

let mergeDepth = 0;

function merged(own: JsonObject, parts: Json[], root: Json): Resolved {
  // A part may name the whole again.
  if (mergeDepth > MAX_REFERENCES) return { note: 'loop', about: 'allOf' };
  mergeDepth += 1;
  try {
    const { allOf: _, ...base } = own;
    let result: JsonObject = base;
    for (const part of parts) {
      const found = resolve(part, root);
      if ('note' in found) return { note: found.note, about: found.about };
      if (isContradiction(result, found.schema)) return { note: 'merge', about: 'allOf' };
      result = union(result, found.schema);
    }
    return { schema: result };
  } finally {
    mergeDepth -= 1;
  }
}

function isContradiction(a: JsonObject, b: JsonObject): boolean {
  return typeof a['type'] === 'string' && typeof b['type'] === 'string' && a['type'] !== b['type'];
}

function union(a: JsonObject, b: JsonObject): JsonObject {
  const both = { ...b, ...a };
  if (isObject(a['properties']) && isObject(b['properties'])) both['properties'] = { ...a['properties'], ...b['properties'] };
  if (Array.isArray(a['required']) && Array.isArray(b['required'])) both['required'] = [...a['required'], ...b['required']];
  return both;
}

/** Takes `null` out of types, enumerations and unions: the form shows it as a choice of its own. */
function withoutNull(schema: JsonObject, root: Json): { schema: JsonObject; isNullable: boolean } {
  const { type } = schema;
  if (schema['nullable'] === true) return { schema: { ...schema, nullable: undefined }, isNullable: true };
  if (Array.isArray(type) && type.includes('null') && type.length > 1) {
    const rest = type.filter((one) => one !== 'null');
    const values = schema['enum'];
    const options = Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {};
    return { schema: { ...schema, ...options, type: rest.length === 1 ? rest[0] : rest }, isNullable: true };
  }
  for (const name of ['anyOf', 'oneOf'] as const) {
    const variants = schema[name];
    if (!Array.isArray(variants) || variants.length < 2) continue;
    const rest = variants.filter((variant) => !isNull(variant, root));
    if (rest.length === variants.length || rest.length === 0) continue;
    const { [name]: _, ...outer } = schema;
    if (rest.length > 1) return { schema: { ...outer, [name]: rest }, isNullable: true };
    const only = resolve(rest[0], root);
    if ('note' in only) return { schema: { ...outer, ...(isObject(rest[0]) ? rest[0] : {}) }, isNullable: true };
    return { schema: { ...only.schema, ...outer }, isNullable: true };
  }
  return { schema, isNullable: false };
}

function isNull(schema: Json, root: Json): boolean {
  const found = resolve(schema, root);
  return 'schema' in found && (found.schema['type'] === 'null' || found.schema['const'] === null);
}

function shapeOf(schema: JsonObject, root: Json): Shape {
  if ('$ref' in schema) return jsonShape('reference', textOf(schema['$ref']));
  const options = optionsOf(schema, root);
  if (options) return { kind: 'choice', options };
  const variants = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(variants) && variants.length > 0) return unionShape(schema, variants, root);
  const { type } = schema;
  if (Array.isArray(type)) {
    const names = type.map(String);
    return { kind: 'union', variants: names.map((name) => ({ name, schema: { ...schema, type: name } })) };
  }
  return typed(schema, type ?? guessed(schema));
}

function typed(schema: JsonObject, type: Json): Shape {
  switch (type) {
    case undefined:
      return jsonShape(null, '');
    case 'string':
      return { kind: 'text' };
    case 'number':
    case 'integer':
      return { kind: 'number', isInteger: type === 'integer' };
    case 'boolean':
      return { kind: 'boolean' };
    case 'null':
      return { kind: 'null' };
    case 'object':
      return objectShape(schema);
    case 'array':
      return arrayShape(schema);
    default:
      return jsonShape('type', textOf(type) || textOf(JSON.stringify(type)));
  }
}

function objectShape(schema: JsonObject): Shape {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required = Array.isArray(schema['required']) ? [...new Set(schema['required'].map(String))] : [];
  const known = new Set(properties.map(([name]) => name));
  // A required member without a schema gets a JSON field.
  const missing = required.filter((name) => !known.has(name)).map((name): [string, Json] => [name, true]);
  const others = schema['additionalProperties'];
  return {
    kind: 'object',
    properties: [...properties, ...missing],
    required: new Set(required),
    others: others === undefined ? true : others,
  };
}

function arrayShape(schema: JsonObject): Shape {
  const { items, prefixItems } = schema;
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  const rest = Array.isArray(items) ? (schema['additionalItems'] ?? true) : (items ?? true);
  return { kind: 'array', items: rest, first };
}

function unionShape(schema: JsonObject, variants: Json[], root: Json): Shape {
  const { anyOf: _, oneOf: __, title: ___, description: ____, ...outer } = schema;
  const full = variants.map((variant) => {
    // Members beside the union hold for every variant of it.
    const isAlone = Object.keys(outer).every((name) => name.startsWith('$') || name === 'default' || name === 'nullable');
    if (isAlone || !isObject(variant) || '$ref' in variant) return variant;
    return union(variant, outer);
  });
  if (full.length === 1) return fieldOf(full[0], root).shape;
  return { kind: 'union', variants: full.map((one, at) => ({ name: variantName(one, root, at), schema: one })) };
}

/** A short name of a variant: its title, a fixed member such as `kind: "a"`, its reference or its type. */
function variantName(schema: Json, root: Json, at: number): string {
  const found = resolve(schema, root);
  if ('note' in found) return referenceName(schema) || `${at + 1}`;
  const own = found.schema;
  const title = textOf(own['title']);
  if (title) return title;
  const properties = isObject(own['properties']) ? own['properties'] : {};
  for (const property of Object.values(properties)) {
    if (isObject(property) && typeof property['const'] === 'string') return property['const'];
  }
  const reference = referenceName(schema);
  if (reference) return reference;
  if ('const' in own) return textOf(own['const']) || textOf(JSON.stringify(own['const']));
  const required = Array.isArray(own['required']) ? own['required'].map(String) : [];
  if (own['type'] === 'object' && required.length > 0 && required.length < 3) return required.join(', ');
  return textOf(own['type']) || textOf(guessed(own)) || `${at + 1}`;
}

function referenceName(schema: Json): string {
  if (!isObject(schema) || typeof schema['$ref'] !== 'string') return '';
  return decoded(schema['$ref'].split('/').at(-1) ?? '');
}

/** The choices of `enum`, `const`, or of a union of constants. */
function optionsOf(schema: JsonObject, root: Json): Option[] | null {
  if ('const' in schema) return [optionOf(schema['const'], '')];
  if (Array.isArray(schema['enum']) && schema['enum'].length > 0) return schema['enum'].map((value) => optionOf(value, ''));
  const variants = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(variants) || variants.length === 0) return null;
  const options: Option[] = [];
  for (const variant of variants) {
    const found = resolve(variant, root);
    if ('note' in found) return null;
    const about = textOf(found.schema['description']) || textOf(found.schema['title']);
    if ('const' in found.schema) options.push(optionOf(found.schema['const'], about));
    else if (Array.isArray(found.schema['enum'])) options.push(...found.schema['enum'].map((value) => optionOf(value, about)));
    else return null;
  }
  return options;
}

function optionOf(value: Json, about: string): Option {
  return { value, label: typeof value === 'string' ? value || '""' : textOf(JSON.stringify(value)), about };
}

/** The type that a schema without `type` means. */
function guessed(schema: JsonObject): string | undefined {
  if (isObject(schema['properties']) || 'additionalProperties' in schema || Array.isArray(schema['required'])) return 'object';
  if ('items' in schema || 'prefixItems' in schema) return 'array';
  if ('pattern' in schema || 'minLength' in schema || 'maxLength' in schema) return 'string';
  if ('minimum' in schema || 'maximum' in schema || 'multipleOf' in schema) return 'number';
  return undefined;
}

function jsonShape(note: NoteId | null, about: string): Shape {
  return { kind: 'json', note, about };
}

function jsonField(note: NoteId, about: string, schema: JsonObject): FieldInfo {
  return {
    shape: jsonShape(note, about),
    isNullable: false,
    title: textOf(schema['title']),
    description: textOf(schema['description']),
    schema: {},
  };
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : '';
}

export function isKnownType(type: Json): boolean {
  return typeof type === 'string' && TYPES.includes(type);
}
