// Drafts in the storage of the browser: which document gets which, and what is never lost.

import { clear, closeTabs, setFull } from './storage';

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import {
  adoptDraft,
  claimTab,
  dropDraft,
  giveDraft,
  hasDraft,
  keepDraft,
  leftoversOf,
  leftoversOfMissing,
  type Unsaved,
} from '../src/live/drafts';
import { ownerOf } from '../src/live/owner';
import { documentWith } from './documents';

const tea = ownerOf(documentWith({ id: 'tea' }));
/** A document of another project with the same id. */
const otherTea = ownerOf(documentWith({ id: 'tea', directory: '/coffee/prompts', created_at: '2026-02-02T10:00:00.000Z' }));
const renamedTea = ownerOf(documentWith({ id: 'green_tea' }));
const no = (): boolean => false;

function unsaved(text: string, members: Partial<Unsaved> = {}): Unsaved {
  return {
    draft: { base: 'Tea.\n', baseRev: 3, expected: 'Tea.\n', text, sent: null, awaited: 0 },
    metadata: { description: '', tags: [], promptType: null },
    changes: [],
    ...members,
  };
}

/** Another tab, beside those that are open. */
async function openTab(): Promise<void> {
  await claimTab();
}

/** Another tab, after all others were closed. */
async function openOnlyTab(): Promise<void> {
  await claimTab();
  const own = sessionStorage.getItem('oxikit.tab');
  closeTabs();
  await claimTab();
  assert.equal(sessionStorage.getItem('oxikit.tab'), own);
}

beforeEach(async () => {
  setFull(false);
  clear();
  await openOnlyTab();
});

test('a draft is taken over by the next tab when its own is closed', async () => {
  keepDraft(tea, unsaved('Green tea.\n'));
  assert.ok(hasDraft('tea'));
  await openTab();
  assert.equal(await adoptDraft(tea), null);
  await openOnlyTab();
  assert.deepEqual(await adoptDraft(tea), unsaved('Green tea.\n'));
  // It is one of this tab now.
  assert.equal(Object.keys(localStorage).length, 1);
  keepDraft(tea, null);
  assert.equal(hasDraft('tea'), false);
});

test('the draft of this tab comes before a newer one of a closed tab, which stays', async () => {
  keepDraft(tea, unsaved('First.\n'));
  await openOnlyTab();
  keepDraft(tea, unsaved('Second.\n'));
  assert.equal((await adoptDraft(tea))?.draft.text, 'Second.\n');
  const leftovers = await leftoversOf(tea, no);
  assert.deepEqual(leftovers.map(({ content }) => content), ['First.\n']);
});

test('another project with the same id does not get a draft, and shows it', async () => {
  const changes = [
    { op: '1', members: { description: 'Old' }, refusal: null },
    { op: '2', members: { description: 'New', tags: ['hot'] }, refusal: null },
  ];
  const draft = { ...unsaved('').draft, base: 'Tea.\r\nHot.\r\n', text: 'Tea.\nCold.\n' };
  keepDraft(tea, unsaved('', { draft, changes }));
  assert.equal(await adoptDraft(otherTea), null);
  const [leftover, ...others] = await leftoversOf(otherTea, no);
  assert.deepEqual(others, []);
  assert.deepEqual(leftover?.owner, tea);
  assert.equal(leftover.content, 'Tea.\r\nCold.\r\n');
  assert.deepEqual(leftover.changed, { description: 'New', tags: ['hot'] });
  // Its own project still gets it, and there it is no leftover.
  assert.ok(await adoptDraft(tea));
  assert.deepEqual(await leftoversOf(tea, no), []);
});

test('a document that was deleted and made by somebody else does not get a draft', async () => {
  keepDraft(tea, unsaved('Green tea.\n'));
  const next = { ...tea, createdAt: '2026-03-03T10:00:00.000Z' };
  assert.equal(await adoptDraft(next), null);
  assert.equal((await leftoversOf(next, no)).length, 1);
});

test('a renamed document shows its draft, and gets it if that is asked for', async () => {
  keepDraft(tea, unsaved('Green tea.\n'));
  assert.equal(await adoptDraft(renamedTea), null);
  assert.deepEqual(await leftoversOf(renamedTea, no), []);
  const [leftover] = await leftoversOf(renamedTea, (other) => other.id === 'tea');
  assert.ok(leftover);
  assert.deepEqual(await leftoversOfMissing('tea'), [leftover]);
  keepDraft(renamedTea, unsaved('Black tea.\n'));
  assert.equal(giveDraft(leftover.key, renamedTea), false);
  assert.equal((await leftoversOfMissing('tea')).length, 1);
  keepDraft(renamedTea, null);
  assert.equal(giveDraft(leftover.key, renamedTea), true);
  assert.deepEqual(await leftoversOfMissing('tea'), []);
  assert.equal((await adoptDraft(renamedTea))?.draft.text, 'Green tea.\n');
});

test('a discarded draft can be brought back', async () => {
  keepDraft(tea, unsaved('Green tea.\n'));
  const [leftover] = await leftoversOfMissing('tea');
  const restore = dropDraft(leftover?.key ?? '');
  assert.deepEqual(await leftoversOfMissing('tea'), []);
  restore();
  assert.deepEqual(await leftoversOfMissing('tea'), [leftover]);
});

test('a draft that the storage does not take lasts as long as the page', async () => {
  keepDraft(tea, unsaved('Green tea.\n'));
  setFull(true);
  keepDraft(tea, unsaved('Green tea, please.\n'));
  assert.equal((await adoptDraft(tea))?.draft.text, 'Green tea, please.\n');
  setFull(false);
  keepDraft(tea, null);
  assert.equal(hasDraft('tea'), false);
});

test('the draft of an earlier version, which has no owner, is shown and not sent', async () => {
  const { draft } = unsaved('Green tea.\n');
  localStorage.setItem('oxikit.draft:old:tea', JSON.stringify({ at: Date.now(), tab: 'old', id: 'tea', draft }));
  assert.equal(await adoptDraft(tea), null);
  const found = await leftoversOf(tea, no);
  assert.deepEqual(found.map(({ content, owner }) => [content, owner.directory]), [['Green tea.\n', '']]);
});

test('what cannot be read is left alone, and old drafts are removed', async () => {
  localStorage.setItem('oxikit.draft:broken', '{');
  keepDraft(tea, unsaved('Green tea.\n'));
  const [key = ''] = Object.keys(localStorage).filter((name) => name.endsWith('tea'));
  const old = Date.now() - 91 * 24 * 3_600_000;
  localStorage.setItem(key, JSON.stringify({ ...JSON.parse(localStorage.getItem(key) ?? ''), at: old }));
  await openTab();
  assert.deepEqual(Object.keys(localStorage), ['oxikit.draft:broken']);
});
