import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { PromptRevision } from '../src/api/types';
import { diffLines, folded } from '../src/prompts/line_diff';
import { piecesOf } from '../src/prompts/pieces';
import { groupsOf } from '../src/prompts/revision_groups';
import { valueOf, variablesOf } from '../src/prompts/variables';

test('the variables of a template are found', () => {
  const check = (template: string, ...expected: string[]): void => {
    assert.deepEqual(
      variablesOf(template).map(({ name, form }) => (form === 'text' ? name : `${name}:${form}`)),
      expected,
    );
  };
  check('Hello {{name}}, {{ name }} and {{{other}}}', 'name', 'other');
  check('{{#if isVip}}Dear {{user.name}}{{else}}Hi{{/if}}', 'isVip', 'user:object');
  check('{{#each items}}{{this}} {{price}} {{@index}} {{../shop}}{{/each}}{{after}}', 'items:list', 'shop', 'after');
  check('{{role "system"}}{{media url=photo}}{{json data indent=2}}{{history}}', 'photo', 'data');
  check('{{! comment {{x}} }}{{!-- {{y}} --}}{{>partial z}}');
  check('---\ninput:\n  schema:\n    topic: string\n---\n{{topic}}', 'topic');
  check('{{#section}}{{inside}}{{/section}}', 'section:list', 'inside');
  check('{{#ifEquals kind "a"}}x{{else}}y{{/ifEquals}}', 'kind');
  check('no tags, {single} and {{', ...[]);
});

test('the value of a field is JSON if it is JSON', () => {
  assert.deepEqual(['', '3', 'true', '["a"]', '"3"', 'tea', '{x'].map(valueOf), [undefined, 3, true, ['a'], '3', 'tea', '{x']);
});

test('an expanded text is cut at the ends of its spans', () => {
  const spans = [
    { start: 2, end: 8, id: 'outer' },
    { start: 4, end: 6, id: 'inner' },
    { start: 8, end: 9, id: 'next' },
  ];
  assert.deepEqual(piecesOf('0123456789', spans), [
    { text: '01', id: null },
    { text: '23', id: 'outer' },
    { text: '45', id: 'inner' },
    { text: '67', id: 'outer' },
    { text: '8', id: 'next' },
    { text: '9', id: null },
  ]);
  assert.deepEqual(piecesOf('abc', []), [{ text: 'abc', id: null }]);
  assert.deepEqual(piecesOf('', [{ start: 0, end: 0, id: 'empty' }]), []);
});

test('a comparison marks the changed words and leaves out equal lines', () => {
  const from = Array.from({ length: 12 }, (_, at) => `line ${at}\n`).join('');
  const to = from.replace('line 5\n', 'line five\nnew\n');
  const lines = diffLines(from, to);
  const text = (at: number): string => lines[at]?.parts.map((part) => part.text).join('') ?? '';
  assert.deepEqual(
    lines.slice(4, 9).map((line, at) => [line.op, line.from, line.to, text(at + 4)]),
    [
      ['same', 5, 5, 'line 4'],
      ['delete', 6, null, 'line 5'],
      ['insert', null, 6, 'line five'],
      ['insert', null, 7, 'new'],
      ['same', 7, 8, 'line 6'],
    ],
  );
  assert.deepEqual(
    folded(lines).map((line) => (line.op === 'gap' ? line.count : line.op)),
    [2, 'same', 'same', 'same', 'delete', 'insert', 'insert', 'same', 'same', 'same', 3],
  );
  assert.deepEqual(diffLines('a\n\nb', 'a\n\nb').map((line) => line.parts), [
    [{ text: 'a', isChanged: false }],
    [],
    [{ text: 'b', isChanged: false }],
  ]);
});

test('edits of one person within minutes are one group', () => {
  const revision = (rev: number, minute: number, change: Partial<PromptRevision> = {}): PromptRevision => ({
    rev,
    kind: 'edit',
    author: 'Ada',
    timestamp: new Date(Date.UTC(2026, 0, 1, 12, minute)).toISOString(),
    hash: '',
    bytes: 1,
    applied: true,
    ...change,
  });
  const revisions = [
    revision(9, 30),
    revision(8, 29, { kind: 'merge' }),
    revision(7, 28),
    revision(6, 28, { author: 'Bo' }),
    revision(5, 20, { author: 'Bo' }),
    revision(4, 19, { author: 'Bo', labels: ['production'] }),
    revision(3, 18, { author: 'Bo', kind: 'external' }),
    revision(2, 17, { author: 'Bo' }),
  ];
  assert.deepEqual(
    groupsOf(revisions).map((group) => group.revisions.map(({ rev }) => rev)),
    [[9, 8, 7], [6], [5], [4], [3], [2]],
  );
});
