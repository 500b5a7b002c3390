// Writes TypeScript types for the schemas of an OpenAPI document: `node types.mjs < openapi.json`.
// The result has one type per schema, in the order of their names, so that it can be compared.

import { readFileSync } from 'node:fs';

const REF = '#/components/schemas/';

/** The TypeScript type of a schema. */
function typeOf(schema, depth) {
  if (schema === true || schema === undefined || Object.keys(schema).length === 0) return 'unknown';
  if (schema.$ref) return nameOf(schema.$ref);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const cases = schema.oneOf ?? schema.anyOf;
  if (cases && !schema.properties) return union(cases.map((it) => typeOf(it, depth)));
  if (cases) {
    const { oneOf, anyOf, ...rest } = schema;
    return `${typeOf(rest, depth)} & (${union(cases.map((it) => typeOf(it, depth)))})`;
  }
  if (schema.allOf) return schema.allOf.map((it) => typeOf(it, depth)).join(' & ');
  if (Array.isArray(schema.type)) {
    return union(schema.type.map((type) => typeOf({ ...schema, type }, depth)));
  }
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return arrayOf(schema, depth);
    default:
      return objectOf(schema, depth);
  }
}

function nameOf(ref) {
  if (!ref.startsWith(REF)) throw new Error(`the reference ${ref} leads out of the schemas`);
  return identifier(decodeURIComponent(ref.slice(REF.length)));
}

function identifier(name) {
  return name.replace(/[^A-Za-z0-9_]/g, '_');
}

function union(types) {
  return [...new Set(types)].join(' | ');
}

function arrayOf(schema, depth) {
  if (schema.prefixItems) {
    return `[${schema.prefixItems.map((item) => typeOf(item, depth)).join(', ')}]`;
  }
  const item = typeOf(schema.items, depth);
  return /[ |&]/.test(item) ? `(${item})[]` : `${item}[]`;
}

function objectOf(schema, depth) {
  const members = Object.entries(schema.properties ?? {});
  const other = schema.additionalProperties;
  if (members.length === 0) {
    return other && other !== true ? `Record<string, ${typeOf(other, depth)}>` : 'Record<string, unknown>';
  }
  const indent = '  '.repeat(depth + 1);
  const required = new Set(schema.required ?? []);
  const lines = members.map(([name, member]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const mark = required.has(name) ? '' : '?';
    return `${comment(member, indent)}${indent}${key}${mark}: ${typeOf(member, depth + 1)};\n`;
  });
  return `{\n${lines.join('')}${'  '.repeat(depth)}}`;
}

/** The description of a schema as a comment. */
function comment(schema, indent) {
  const text = schema?.description?.trim();
  if (!text) return '';
  const lines = text.replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  const body = lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n');
  return `${indent}/**\n${body}\n${indent} */\n`;
}

const api = JSON.parse(readFileSync(0, 'utf8'));
const schemas = Object.entries(api.components?.schemas ?? {});
schemas.sort(([a], [b]) => (a < b ? -1 : 1));
let out = '// Made by `cargo xtask web --types` from the OpenAPI document of the prompt manager.\n';
for (const [name, schema] of schemas) {
  const type = typeOf(schema, 0);
  const isObject = type.startsWith('{') && type.indexOf('}') === type.lastIndexOf('\n') + 1;
  out += `\n${comment(schema, '')}`;
  out += isObject
    ? `export interface ${identifier(name)} ${type}\n`
    : `export type ${identifier(name)} = ${type};\n`;
}
process.stdout.write(out);
