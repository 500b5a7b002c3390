import assert from 'node:assert/strict';
import { test } from 'node:test';

import { check } from '../src/form/check';
import { hintOf } from '../src/form/hints';
import { placeAt, suggestionsAt } from '../src/form/json_place';
import { parseJson, textOfValue, valueOfText } from '../src/form/json_text';
import { fieldOf, type Shape } from '../src/form/schema';
import { firstValue, numberOf, otherMembers, variantOf, withMember, withName } from '../src/form/values';

const shape = (schema: unknown, root: unknown = schema): Shape => fieldOf(schema, root).shape;
const note = (schema: unknown): unknown => {
  const found = shape(schema);
  return found.kind === 'json' ? found.note : found.kind;
};

test('each type of a schema has its field', () => {
  assert.equal(shape({ type: 'string' }).kind, 'text');
  assert.deepEqual(shape({ type: 'integer' }), { kind: 'number', isInteger: true });
  assert.equal(shape({ type: 'boolean' }).kind, 'boolean');
  assert.equal(shape({ type: 'null' }).kind, 'null');
  assert.equal(shape({ enum: ['a', 2, null] }).kind, 'choice');
  assert.equal(shape({ const: 'x' }).kind, 'choice');
  assert.equal(shape({ oneOf: [{ const: 'a', description: 'first' }, { const: 'b' }] }).kind, 'choice');
  assert.equal(shape({ type: ['string', 'number'] }).kind, 'union');
  assert.equal(shape({ properties: { a: {} } }).kind, 'object');
  assert.equal(shape({ items: {} }).kind, 'array');
  assert.equal(shape({ allOf: [{ type: 'object', properties: { a: {} } }, { properties: { b: {} } }] }).kind, 'object');
});

test('a broken schema becomes a JSON field with a reason', () => {
  assert.equal(note({ $ref: '#/$defs/Nowhere' }), 'reference');
  assert.equal(note({ $ref: 'https://example.com/schema.json' }), 'reference');
  assert.equal(note({ $ref: 17 }), 'reference');
  assert.equal(note('not a schema'), 'notSchema');
  assert.equal(note([]), 'notSchema');
  assert.equal(note(null), 'notSchema');
  assert.equal(note(7), 'notSchema');
  assert.equal(note({ type: 'strnig' }), 'type');
  assert.equal(note({ type: { a: 1 } }), 'type');
  assert.equal(note(false), 'never');
  assert.equal(note({ $ref: '#' }), 'loop');
  assert.equal(note({ $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } }, $ref: '#/$defs/A' }), 'loop');
  assert.equal(note({ allOf: [{ $ref: '#' }] }), 'loop');
  assert.equal(note({ allOf: [{ type: 'string' }, { type: 'number' }] }), 'merge');
});

test('a missing or empty schema allows any value', () => {
  for (const schema of [undefined, true, {}, { description: 'anything' }]) assert.equal(note(schema), null);
  assert.deepEqual(check({ any: 1 }, undefined), []);
  assert.deepEqual(check(undefined, {}), []);
});

test('odd members of a schema are no dead end', () => {
  const odd: unknown[] = [
    { type: 'object', properties: 'x', required: 3, additionalProperties: 'y' },
    { type: 'object', properties: { a: 5, b: null, c: [] }, required: ['a', 'z', 7] },
    { type: 'array', items: 'x' },
    { type: 'array', items: [{ type: 'string' }, 4], additionalItems: false },
    { type: 'array', prefixItems: {}, items: false },
    { anyOf: [] },
    { oneOf: 'x' },
    { anyOf: [1, null, { $ref: '#/x' }] },
    { enum: [] },
    { enum: 'a' },
    { type: [] },
    { type: ['string', 'what'] },
    { type: 'string', pattern: '(' },
    { type: 'string', minLength: 'many', maxLength: null },
    { type: 'number', minimum: '3', multipleOf: 0 },
    { type: ['null'] },
    { nullable: true, type: 'string' },
    { $defs: 4, definitions: null, $ref: '#/definitions/a' },
  ];
  for (const schema of odd) {
    const field = fieldOf(schema, schema);
    assert.equal(typeof hintOf(field), 'string');
    for (const value of [undefined, null, 'x', 3, [1, 'a'], { a: { b: 1 } }, true]) {
      assert.ok(Array.isArray(check(value, schema)));
      if (field.shape.kind === 'union') assert.equal(typeof variantOf(value, field.shape.variants, schema), 'number');
    }
    firstValue(schema, schema);
  }
});

test('null is a choice beside the others', () => {
  for (const schema of [
    { type: ['string', 'null'] },
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { type: 'string', nullable: true },
    { oneOf: [{ const: null }, { type: 'string' }] },
  ]) {
    const field = fieldOf(schema, schema);
    assert.deepEqual([field.shape.kind, field.isNullable], ['text', true]);
    assert.deepEqual(check(null, schema), []);
  }
  const reference = { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }], $defs: { A: { enum: ['x', 'y'] } } };
  assert.deepEqual([fieldOf(reference, reference).shape.kind, fieldOf(reference, reference).isNullable], ['choice', true]);
  assert.deepEqual(check(undefined, { type: 'object', properties: { a: { type: ['string', 'null'] } } }).length, 1);
});

test('a recursive schema opens on demand and has a finite first value', () => {
  const tree = {
    $ref: '#/$defs/Node',
    $defs: { Node: { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#/$defs/Node' } }, required: ['name', 'next'] } },
  };
  assert.equal(shape(tree).kind, 'object');
  const first = JSON.stringify(firstValue(tree, tree));
  assert.ok(first.length < 2_000 && first.includes('"next":{'));
  assert.deepEqual(check({ name: 'a', next: { name: 3, next: {} } }, tree).map(({ path }) => path).slice(0, 1), ['/next/name']);
});

test('variants of a union have names and are found by the value', () => {
  const union = {
    oneOf: [
      { title: 'By city', type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      { type: 'object', properties: { kind: { const: 'point' }, lat: { type: 'number' } }, required: ['kind', 'lat'] },
      { $ref: '#/$defs/Zip' },
      { type: 'string' },
    ],
    $defs: { Zip: { type: 'integer' } },
  };
  const found = shape(union);
  assert.ok(found.kind === 'union');
  assert.deepEqual(found.variants.map(({ name }) => name), ['By city', 'point', 'Zip', 'string']);
  const at = (value: unknown): number => variantOf(value, found.variants, union);
  assert.deepEqual([at({ city: 'x' }), at({ kind: 'point', lat: 1 }), at(80331), at('x'), at({ kind: 'point', lat: 'y' }), at(undefined)], [0, 1, 2, 3, 1, -1]);
});

test('problems say where and what', () => {
  const schema = {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 0 },
      s: { type: 'string', minLength: 2, pattern: '^a' },
      list: { type: 'array', items: { type: 'boolean' }, maxItems: 1 },
      e: { enum: ['x'] },
    },
    required: ['n', 'gone'],
    additionalProperties: false,
  };
  const open = { ...schema, additionalProperties: true };
  const found = check({ n: -1, s: 'b', list: [true, 'no'], e: 'y', more: 1 }, schema);
  assert.deepEqual(
    found.map(({ path, message }) => `${path} ${message}`).toSorted(),
    [
      '/e only "x" is allowed',
      '/gone gone is missing',
      '/list 2 entries, at most 1 are allowed',
      '/list/1 this text is not true or false',
      '/more more is not in the schema',
      '/n -1 is below 0',
      '/s 1 characters, at least 2 are needed',
      '/s it does not match ^a',
    ].toSorted(),
  );
  assert.deepEqual(check({ n: 1.5, gone: 1 }, open).map(({ message }) => message), ['1.5 is not a whole number']);
  assert.deepEqual(check({ n: 1, gone: 1 }, open), []);
});

test('what is typed is never lost', () => {
  for (const value of ['tea', '3', '"', '{"a":', 3, null, true, [1], { a: 'b' }, '', undefined]) {
    assert.deepEqual(valueOfText(textOfValue(value)), value);
  }
  assert.deepEqual(['', ' 7 ', '1,5', 'seven', '-', '0x10'].map(numberOf), [undefined, 7, 1.5, 'seven', '-', '0x10']);
  const value = { unknown: { deep: 1 }, a: 1 };
  assert.deepEqual(withMember(value, 'a', 2), { unknown: { deep: 1 }, a: 2 });
  assert.deepEqual(withMember(value, 'a', undefined), { unknown: { deep: 1 } });
  assert.deepEqual(Object.keys(withName(value, 'unknown', 'known') as object), ['known', 'a']);
  assert.deepEqual(withName(value, 'unknown', 'a'), value);
  assert.deepEqual(otherMembers(value, [['a', true]]), ['unknown']);
});

test('an error of JSON names its line', () => {
  const message = (text: string): string => {
    const parsed = parseJson(text);
    return parsed.ok ? 'ok' : `${parsed.line}:${parsed.at} ${parsed.message}`;
  };
  assert.equal(message('{"a": 1}'), 'ok');
  assert.equal(message('{"a": 1,}'), '1:8 a comma before } is not allowed');
  assert.equal(message('{\n  "a" 1\n}'), '2:8 a colon is expected after the name');
  assert.equal(message('[1 2]'), '1:3 a comma or ] is expected');
  assert.equal(message('{"a": [1'), '1:6 this list is not closed by ]');
  assert.equal(message("{'a': 1}"), '1:1 a name in double quotes is expected');
  assert.equal(message('"open'), '1:0 this text is not closed by a quote');
  assert.equal(message('hello'), '1:0 this is not a JSON value; texts are in double quotes');
  assert.equal(message('1 2'), '1:2 something follows after the end of the value');
  assert.equal(message(''), '1:0 a value is missing');
});

test('the editor offers names and values of the schema', () => {
  const schema = {
    type: 'object',
    properties: {
      city: { type: 'string' },
      unit: { enum: ['metric', 'imperial'] },
      days: { type: 'array', items: { $ref: '#/$defs/Day' } },
    },
    $defs: { Day: { type: 'object', properties: { name: { type: 'string' }, isOpen: { type: ['boolean', 'null'] } } } },
  };
  const offers = (text: string): string[] => {
    const at = text.indexOf('|');
    const place = placeAt(text.replace('|', ''), at);
    return place ? suggestionsAt(place, schema).map(({ label }) => label) : [];
  };
  assert.deepEqual(offers('{"|'), ['city', 'unit', 'days']);
  assert.deepEqual(offers('{"city": "x", |'), ['unit', 'days']);
  assert.deepEqual(offers('{"unit": "me|"}'), ['metric', 'imperial']);
  assert.deepEqual(offers('{"unit": |'), ['metric', 'imperial']);
  assert.deepEqual(offers('{"days": [{}, {"na|'), ['name', 'isOpen']);
  assert.deepEqual(offers('{"days": [{"isOpen": t|'), ['true', 'false', 'null']);
  assert.deepEqual(offers('{"city": "x"|'), []);
  assert.deepEqual(offers('[|'), []);
});
