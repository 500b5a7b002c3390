// Writes TypeScript types for an OpenAPI document: `node types.mjs <source> < openapi.json`, where
// the source is named in the first line. The result has a type for each schema, for the data of each
// stream's events and for each query, in the order of their names, so that it can be compared.

import { readFileSync } from 'node:fs';

const REF = '#/components/schemas/';

/** The TypeScript type of a schema. */
function typeOf(schema, depth) {
  if (schema === true || schema === undefined || isAny(schema)) return 'unknown';
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

/** Whether a schema only describes: any value is valid. */
function isAny(schema) {
  return Object.keys(schema).every((key) => ['description', 'title', 'default', 'examples'].includes(key));
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

/** The declaration of a type under this name. */
function declaration(name, type, schema) {
  const isObject = type.startsWith('{') && type.indexOf('}') === type.lastIndexOf('\n') + 1;
  const text = isObject ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
  return `\n${comment(schema, '')}${text}\n`;
}

/** What the data of the events of a stream hold, by the names of the events; `undefined` for other schemas. */
function dataOf(schema) {
  const forms = (schema.oneOf ?? [schema]).map((it) => it.properties ?? {});
  if (!forms.every((it) => it.event && it.data?.contentSchema)) return undefined;
  const members = forms.map(({ event, data }) => {
    return [event.const ?? event.enum?.[0], data.contentSchema];
  });
  const required = members.map(([name]) => name);
  return { type: 'object', properties: Object.fromEntries(members), required };
}

/** The query of an operation as a schema; `undefined` if it has none. */
function queryOf(operation) {
  const query = (operation.parameters ?? []).filter((it) => it.in === 'query');
  if (query.length === 0) return undefined;
  const members = query.map((it) => [it.name, { ...it.schema, description: it.description }]);
  const required = query.filter((it) => it.required).map((it) => it.name);
  return { type: 'object', properties: Object.fromEntries(members), required };
}

const [source] = process.argv.slice(2);
const api = JSON.parse(readFileSync(0, 'utf8'));
const declarations = [];
for (const [key, schema] of Object.entries(api.components?.schemas ?? {})) {
  const name = identifier(key);
  declarations.push([name, declaration(name, typeOf(schema, 0), schema)]);
  const data = dataOf(schema);
  if (data) {
    const about = { description: `The data of \`${name}\`, parsed, by the name of the event.` };
    declarations.push([`${name}Data`, declaration(`${name}Data`, typeOf(data, 0), about)]);
  }
}
for (const operation of Object.values(api.paths ?? {}).flatMap((path) => Object.values(path))) {
  const query = queryOf(operation);
  if (!query) continue;
  const name = `${operation.operationId[0].toUpperCase()}${operation.operationId.slice(1)}Query`;
  const about = { description: `The query of \`${operation.operationId}\`.` };
  declarations.push([name, declaration(name, typeOf(query, 0), about)]);
}
declarations.sort(([a], [b]) => (a < b ? -1 : 1));
let out = `// Made by \`cargo xtask web --types\` from the OpenAPI document of ${source}.\n`;
for (const [, text] of declarations) out += text;
process.stdout.write(out);
