import assert from 'node:assert/strict';
import { test } from 'node:test';

import { arrange, mediaOf, textPieces } from '../src/ui/conversation_parts';
import { compare, countChanges, jsonPatch, type PatchOperation } from '../src/ui/json_diff';
import { diffLines } from '../src/ui/json_diff_lines';
import { linesOf, openAtFirst, parsed, pathText, quoted } from '../src/ui/json_lines';
import { pieces, searchJson } from '../src/ui/json_search';
import { Random } from './random';

const all = { isOpen: () => true, shown: () => 100 };

test('two levels are open at first, as long as there are at most 20 lines', () => {
  const long = { text: 'x'.repeat(80) };
  const value = { a: { b: { c: { d: long } } }, short: [1, 2], list: Array.from({ length: 30 }, () => 'x') };
  assert.deepEqual([...openAtFirst(value)], ['', '/a', '/a/b']);
  assert.deepEqual([...openAtFirst('text')], []);
});

test('short containers are on one line, and long lists are paged', () => {
  const value = { short: { item: 'oolong' }, empty: {}, list: Array.from({ length: 250 }, (_, index) => index) };
  const lines = linesOf(value, all);
  assert.deepEqual(lines.slice(0, 4).map(({ name, form }) => [name, form]), [
    [null, 'open'],
    ['short', 'inline'],
    ['empty', 'inline'],
    ['list', 'open'],
  ]);
  assert.equal(lines.length, 4 + 100 + 1);
  assert.deepEqual([lines.at(-1)?.form, lines.at(-1)?.count], ['more', 150]);
});

test('paths are written as code writes them', () => {
  assert.equal(pathText(['messages', 0, 'content']), 'messages[0].content');
  assert.equal(pathText(['a b', 'c']), '["a b"].c');
  assert.equal(pathText([]), '$');
});

test('strings keep their line breaks and quotes, other controls are escaped', () => {
  assert.equal(quoted('say "hi"\n\u0007 \\n'), '"say "hi"\n\\u0007 \\\\n"');
});

test('a broken JSON text has its reason', () => {
  assert.deepEqual(parsed('{"a":1}'), { value: { a: 1 } });
  assert.ok('error' in parsed('{"a":'));
});

test('a search finds names and scalars, and opens what is around them', () => {
  const value = { list: [{ Tea: 'green' }, { other: 'TEAPOT' }], n: 12 };
  const found = searchJson(value, 'tea');
  assert.deepEqual(found.matches, ['/list/0/Tea', '/list/1/other']);
  assert.equal(found.ancestors.get('/list'), 1);
  assert.deepEqual(searchJson(value, '12').matches, ['/n']);
  assert.deepEqual(pieces('a tea Tea', 'tea'), ['a ', 'tea', ' ', 'Tea', '']);
});

test('differences are found by path', () => {
  const difference = compare(
    { items: ['green tea'], total: 3, gone: true, same: { a: 1 } },
    { items: ['green tea', 'oolong'], total: 4, same: { a: 1 } },
  );
  assert.deepEqual(countChanges(difference), { added: 1, removed: 1, changed: 1 });
  assert.deepEqual(jsonPatch(difference), [
    { op: 'add', path: '/items/1', value: 'oolong' },
    { op: 'replace', path: '/total', value: 4 },
    { op: 'remove', path: '/gone' },
  ]);
  const marks = diffLines(difference, new Set()).map((line) => (line.form === 'text' ? line.mark + line.text : '…'));
  assert.deepEqual(marks, ['{', '[', '"green tea"', '+"oolong"', ']', '~3 → 4', '−true', '{ "a": 1 }', '}']);
});

test('an element that is inserted at the front changes nothing behind it', () => {
  const difference = compare([{ id: 1 }, { id: 2 }], [{ id: 0 }, { id: 1 }, { id: 2 }]);
  assert.deepEqual(jsonPatch(difference), [{ op: 'add', path: '/0', value: { id: 0 } }]);
});

test('long runs of equal members are folded until they are opened', () => {
  const before = Array.from({ length: 50 }, (_, index) => index);
  const after = before.with(25, -1);
  const lines = diffLines(compare(before, after), new Set());
  assert.deepEqual(lines.flatMap((line) => (line.form === 'fold' ? [line.count] : [])), [23, 22]);
  const fold = lines.find(({ form }) => form === 'fold');
  assert.ok(diffLines(compare(before, after), new Set([fold?.key ?? ''])).length > lines.length + 20);
});

test('the JSON Patch of random values makes the one out of the other', () => {
  const random = new Random(7);
  for (let round = 0; round < 400; round += 1) {
    const [before, after] = [randomJson(random, 3), randomJson(random, 3)];
    assert.deepEqual(applied(before, jsonPatch(compare(before, after))), after);
  }
});

test('earlier turns are apart from the last one', () => {
  const message = (role: string, text: string) => ({ role, content: [{ text }] });
  const messages = [message('system', 's'), message('user', '1'), message('model', '2'), message('user', '3'), message('tool', '4')];
  const arranged = arrange(messages);
  assert.deepEqual([arranged.system.length, arranged.earlier.length, arranged.turns, arranged.current.length], [1, 2, 1, 2]);
  assert.equal(arrange(messages.slice(0, 3)).earlier.length, 0);
});

test('media of other servers are not loaded', () => {
  const origin = 'http://127.0.0.1:4100';
  const source = (url: string, contentType?: string) => mediaOf({ url, ...(contentType && { contentType }) }, origin);
  assert.equal(source('https://other.example/a.png', 'image/png').source, null);
  assert.equal(source('//other.example/a.png', 'image/png').source, null);
  assert.equal(source('javascript:alert(1)', 'image/png').source, null);
  assert.equal(source('/files/a.png', 'image/png').source, '/files/a.png');
  const data = source('data:image/png;base64,AAAA');
  assert.deepEqual([data.kind, data.bytes, data.source !== null], ['image', 3, true]);
});

test('code between backticks is told from the rest of a text', () => {
  assert.deepEqual(textPieces('call `order` now\n```js\nlet a;\n```end'), [
    { form: 'text', text: 'call ' },
    { form: 'code', text: 'order' },
    { form: 'text', text: ' now\n' },
    { form: 'block', text: 'let a;' },
    { form: 'text', text: 'end' },
  ]);
});

function randomJson(random: Random, depth: number): unknown {
  const form = random.below(depth > 0 ? 5 : 3);
  if (form === 0) return random.below(3);
  if (form === 1) return ['a', 'b~/', null, true][random.below(4)];
  if (form === 2) return `t${random.below(3)}`;
  const inner = Array.from({ length: random.below(5) }, () => randomJson(random, depth - 1));
  return form === 3 ? inner : Object.fromEntries(inner.map((one, index) => [['x', 'y/~', 'z', '0', 'w'][index], one]));
}

/** Applies a JSON Patch, as RFC 6902 says. */
function applied(value: unknown, patch: PatchOperation[]): unknown {
  const whole = { root: structuredClone(value) };
  for (const operation of patch) {
    const names = ['root', ...operation.path.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))];
    const last = names.pop() ?? '';
    let parent = whole as Record<string, unknown>;
    for (const name of names) parent = parent[name] as Record<string, unknown>;
    if (Array.isArray(parent)) {
      if (operation.op === 'remove') parent.splice(Number(last), 1);
      else if (operation.op === 'add') parent.splice(Number(last), 0, operation.value);
      else parent[Number(last)] = operation.value;
    } else if (operation.op === 'remove') delete parent[last];
    else parent[last] = operation.value;
  }
  return whole.root;
}
