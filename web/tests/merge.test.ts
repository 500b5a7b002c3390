import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changesBetween, difference, positionAfter } from '../src/live/diff';
import { toDocument, toEditor } from '../src/live/line_ends';
import { merge } from '../src/live/merge';
import { applyPatch, patchBetween } from '../src/live/patch';
import { linesOf, tokensOf } from '../src/live/tokens';
import { randomEdit, randomText, Random } from './random';

test('tokens and lines together are the text', () => {
  for (const text of ['', 'a b\r\nc', 'Tea, 茶を飲む!', 'e\u0301 👩‍🚀👍🏽', '\n\r\n\r', '\ud800x']) {
    assert.equal(tokensOf(text).join(''), text);
    assert.equal(linesOf(text).join(''), text);
  }
  assert.deepEqual(tokensOf('Say hi,  twice\r\n'), ['Say', ' ', 'hi', ',', '  ', 'twice', '\r\n']);
  assert.deepEqual(tokensOf('茶をab'), ['茶', 'を', 'ab']);
  assert.deepEqual(tokensOf('👩‍🚀👍🏽'), ['👩‍🚀', '👍🏽']);
});

test('a difference leads from one text to the other', () => {
  const random = new Random(1);
  for (let round = 0; round < 500; round += 1) {
    const from = randomText(random);
    let to = from;
    for (let edits = random.below(4); edits > 0; edits -= 1) to = randomEdit(random, to, `x${edits}`);
    let text = '';
    let at = 0;
    for (const change of changesBetween(from, to)) {
      assert.ok(change.from >= at);
      text += from.slice(at, change.from) + change.insert;
      at = change.to;
    }
    assert.equal(text + from.slice(at), to);
    assert.equal(applyPatch(from, patchBetween(from, to)), to);
  }
});

test('a position moves with the text around it', () => {
  const check = (from: string, to: string): void => {
    const text = to.replace('|', '');
    const position = positionAfter(changesBetween(from.replace('|', ''), text), from.indexOf('|'));
    assert.equal(`${text.slice(0, position)}|${text.slice(position)}`, to);
  };
  check('one two| three', 'zero one two| three');
  check('one two three|', 'one three|');
  check('one two|', 'one two| three');
  check('|one', '|zero one');
  check('one t|wo three', 'one |four three');
});

test('a large difference is found by lines, and a huge one as a whole', () => {
  const lines = (word: string): string => Array.from({ length: 900 }, (_, at) => `${word}${at} ${word} b\n`).join('');
  const [from, to] = [`same\n${lines('x')}end`, `same\n${lines('y')}end`];
  assert.equal(difference(from, to).tokens[0], 'same\n');
  assert.equal(changesBetween(from, to).length, 1);
  assert.equal(applyPatch(from, patchBetween(from, to)), to);
});

test('a patch that does not fit a text is refused', () => {
  assert.equal(applyPatch('abc', [['keep', 4]]), null);
  assert.equal(applyPatch('abc', [['delete', 2], ['keep', 2]]), null);
  assert.equal(applyPatch('abc', [['keep', 1], ['insert', 'x']]), 'axbc');
});

test('a merge has the changes of both sides', () => {
  const check = (base: string, stored: string, incoming: string, text: string, conflicts = 0): void => {
    const merged = merge(base, stored, incoming);
    assert.deepEqual([merged.text, merged.conflicts.length], [text, conflicts]);
  };
  check('Tell a joke.', 'Tell a short joke.', 'Tell a joke about tea.', 'Tell a short joke about tea.');
  check('one two', 'one two three', 'one two three', 'one two three');
  check('a b', 'a stored b', 'a incoming b', 'a stored incoming b');
  check('a', 'a b', 'a c', 'a b c');
  check('Tell a joke.', 'Tell a pun.', 'Tell a riddle, please.', 'Tell a riddle, please.', 1);
  check('one two three four', 'one four', 'one two new three four', 'one new four', 1);
  check('', 'x', 'y', 'x y');
  check('茶', '茶を', '茶の', '茶をの');
});

test('a merge with an unchanged side is the other side', () => {
  const random = new Random(7);
  for (let round = 0; round < 200; round += 1) {
    const [base, other] = [randomText(random), randomText(random)];
    assert.deepEqual(merge(base, base, other), { text: other, conflicts: [] });
    assert.deepEqual(merge(base, other, base), { text: other, conflicts: [] });
    assert.deepEqual(merge(base, other, other), { text: other, conflicts: [] });
  }
});

test('an edit changes no line end that it does not touch', () => {
  const document = 'one\r\ntwo\nthree\r\nfour\r\n';
  assert.equal(toEditor(document), 'one\ntwo\nthree\nfour\n');
  assert.equal(toDocument(document, toEditor(document)), document);
  assert.equal(toDocument(document, 'one\ntwo 2\nthree\nnew\nfour\n'), 'one\r\ntwo 2\nthree\r\nnew\r\nfour\r\n');
  assert.equal(toDocument('a\nb', 'a\nb\nc'), 'a\nb\nc');
});
