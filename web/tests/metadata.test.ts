import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LiveMetadata, type Metadata } from '../src/live/metadata';

const SERVER: Metadata = { description: 'A tea', tags: ['hot'], promptType: 'standard' };

/** Metadata of revision 4, whose changes have the ops `1`, `2` and so on. */
function begun(): LiveMetadata {
  let ops = 0;
  const metadata = new LiveMetadata(() => String((ops += 1)));
  metadata.begin(SERVER, 4, []);
  return metadata;
}

test('a change is shown at once and kept until it is stored', () => {
  const metadata = begun();
  metadata.change({ description: 'Green tea' });
  metadata.change({ tags: [] });
  assert.deepEqual(metadata.shown, { description: 'Green tea', tags: [], promptType: 'standard' });
  assert.deepEqual(metadata.unanswered.map(({ op }) => op), ['1', '2']);
  assert.equal(metadata.answered('1', { success: true, rev: 5 }), true);
  assert.equal(metadata.answered('1', { success: true, rev: 5 }), false);
  assert.deepEqual(metadata.changes.map(({ op }) => op), ['2']);
  metadata.answered('2', { success: true, rev: 6 });
  assert.deepEqual(metadata.changes, []);
  assert.deepEqual(metadata.shown, { description: 'Green tea', tags: [], promptType: 'standard' });
});

test('changes of others are shown below the own ones', () => {
  const metadata = begun();
  metadata.change({ description: 'Mine' });
  metadata.received({ ...SERVER, description: 'Theirs', tags: ['cold'] }, 5);
  assert.deepEqual(metadata.shown, { description: 'Mine', tags: ['cold'], promptType: 'standard' });
  // The change of the other person is older than the stored own one.
  metadata.answered('1', { success: true, rev: 6 });
  assert.equal(metadata.shown.description, 'Mine');
  metadata.received({ ...SERVER, description: 'Old' }, 5);
  assert.equal(metadata.shown.description, 'Mine');
});

test('the answer to a change does not replace what was stored after it', () => {
  const metadata = begun();
  metadata.change({ description: 'Mine' });
  metadata.received({ ...SERVER, description: 'Later' }, 6);
  metadata.answered('1', { success: true, rev: 5 });
  assert.equal(metadata.shown.description, 'Later');
});

test('a refused change stays, and is sent again under another op', () => {
  const metadata = begun();
  metadata.change({ description: 'Mine' });
  metadata.answered('1', { success: false, refusal: 'read only' });
  assert.equal(metadata.refusal, 'read only');
  assert.equal(metadata.shown.description, 'Mine');
  assert.deepEqual(metadata.unanswered, []);
  metadata.retry();
  assert.equal(metadata.refusal, null);
  assert.deepEqual(metadata.unanswered, [{ op: '2', members: { description: 'Mine' }, refusal: null }]);
});

test('a refused change is dropped, or replaced by another change of the same members', () => {
  const metadata = begun();
  metadata.change({ description: 'Mine', tags: ['own'] });
  metadata.answered('1', { success: false, refusal: 'read only' });
  metadata.change({ description: 'Again' });
  assert.deepEqual(metadata.changes.map(({ members }) => members), [{ tags: ['own'] }, { description: 'Again' }]);
  metadata.discardRefused();
  assert.deepEqual(metadata.shown, { ...SERVER, description: 'Again' });
  assert.equal(metadata.refusal, null);
});

test('changes of an earlier page are sent under their ops', () => {
  const earlier = begun();
  earlier.change({ description: 'Mine' });
  const metadata = new LiveMetadata();
  metadata.begin({ ...SERVER, tags: ['new'] }, 9, earlier.changes);
  assert.deepEqual(metadata.shown, { ...SERVER, description: 'Mine', tags: ['new'] });
  assert.deepEqual(metadata.unanswered.map(({ op }) => op), ['1']);
});

test('a server with another history counts from its own revision', () => {
  const metadata = begun();
  metadata.change({ description: 'Mine' });
  metadata.reconnected({ ...SERVER, tags: ['theirs'] }, 1);
  assert.deepEqual(metadata.shown, { ...SERVER, description: 'Mine', tags: ['theirs'] });
  metadata.answered('1', { success: true, rev: 2 });
  assert.equal(metadata.shown.description, 'Mine');
});
