import assert from 'node:assert/strict';
import { test } from 'node:test';

import { documentOf, ownerOf, renamesBetween } from '../src/live/owner';
import { documentWith } from './documents';

const first = '2026-01-01T10:00:00.000Z';
const second = '2026-01-01T11:00:00.000Z';
const tea = documentWith({ id: 'tea', created_at: first });
const greenTea = documentWith({ id: 'green_tea', created_at: first });
const cake = documentWith({ id: 'cake', created_at: second });
const bread = documentWith({ id: 'bread', created_at: first });

test('renames are found between two lists', () => {
  assert.deepEqual(renamesBetween([tea, cake], [greenTea, cake]), [['tea', 'green_tea']]);
  assert.deepEqual(renamesBetween([tea, cake], [cake]), []);
  assert.deepEqual(renamesBetween([], [tea]), []);
  // A document that was deleted, and another one that was made later.
  assert.deepEqual(renamesBetween([tea], [cake]), []);
  // Another project.
  assert.deepEqual(renamesBetween([tea], [{ ...greenTea, directory: '/coffee/prompts' }]), []);
});

test('renames of documents of the same millisecond are found only if one of them is renamed', () => {
  assert.deepEqual(renamesBetween([tea, bread], [greenTea, bread]), [['tea', 'green_tea']]);
  const rye = { ...bread, id: 'rye' };
  assert.deepEqual(renamesBetween([tea, bread], [greenTea, rye]), []);
  assert.deepEqual(renamesBetween([tea, bread], [greenTea]), []);
});

test('the document of a draft is found by its id, by its new id, or by its history', () => {
  const owner = ownerOf(tea);
  assert.equal(documentOf(owner, [cake, tea, bread]), tea);
  assert.equal(documentOf(owner, [cake, greenTea, bread], 'green_tea'), greenTea);
  assert.equal(documentOf(owner, [cake, greenTea]), greenTea);
  // Two documents fit.
  assert.equal(documentOf(owner, [greenTea, bread]), undefined);
  // Another document has the id now.
  const other = { ...tea, created_at: second };
  assert.equal(documentOf(owner, [other]), undefined);
  assert.equal(documentOf(owner, [other, greenTea]), greenTea);
});
