// The hint below a field: its description, then what the schema demands.

import type { FieldInfo, JsonObject } from './schema';
import { texts } from './texts';

const words = texts.hints;

export function hintOf({ shape, schema, description }: FieldInfo): string {
  const parts = [sentence(description.trim().replace(/\s+/g, ' '))];
  if (shape.kind === 'number') parts.push(numberHint(schema, shape.isInteger));
  if (shape.kind === 'text') parts.push(textHint(schema));
  if (shape.kind === 'array') parts.push(sentence(rangeHint(schema['minItems'], schema['maxItems'], words.entries)));
  if (schema['default'] !== undefined) parts.push(sentence(words.preset(short(schema['default']))));
  const examples = schema['examples'];
  if (Array.isArray(examples) && examples.length > 0) parts.push(sentence(words.example(examples.slice(0, 3).map(short).join(', '))));
  return parts.filter(Boolean).join(' ');
}

function numberHint(schema: JsonObject, isInteger: boolean): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const parts: string[] = isInteger ? [words.integer] : [];
  // Types of Rust have limits that nobody needs to read.
  const isUseful = (limit: unknown): limit is number => typeof limit === 'number' && Math.abs(limit) < 2 ** 31;
  if (isUseful(minimum) && isUseful(maximum)) parts.push(words.range(minimum, maximum));
  else if (isUseful(minimum)) parts.push(words.atLeast(minimum));
  else if (isUseful(maximum)) parts.push(words.atMost(maximum));
  if (isUseful(exclusiveMinimum)) parts.push(words.above(exclusiveMinimum));
  if (isUseful(exclusiveMaximum)) parts.push(words.below(exclusiveMaximum));
  if (isUseful(multipleOf)) parts.push(words.multiple(multipleOf));
  return sentence(parts.join(', '));
}

function textHint(schema: JsonObject): string {
  const { format, pattern } = schema;
  const parts = [
    typeof format === 'string' ? (words.formats[format] ?? '') : '',
    rangeHint(schema['minLength'], schema['maxLength'], words.length),
    typeof pattern === 'string' ? words.pattern(pattern) : '',
  ];
  return parts.filter(Boolean).map(sentence).join(' ');
}

function rangeHint(least: unknown, most: unknown, say: (least: number | null, most: number | null) => string): string {
  const [from, to] = [typeof least === 'number' ? least : null, typeof most === 'number' ? most : null];
  return from === null && to === null ? '' : say(from, to);
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

function sentence(text: string): string {
  if (text === '') return '';
  const upper = text[0]?.toUpperCase() + text.slice(1);
  return /[.!?:…]$/.test(upper) ? upper : `${upper}.`;
}
