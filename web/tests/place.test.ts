// Places of the page and links to them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { earlierFragment } from '../src/api/earlier_link';

test('a link to the earlier address of the prompts keeps its code, its token and its view', () => {
  assert.equal(earlierFragment(''), '#/prompts');
  assert.equal(earlierFragment('#'), '#/prompts');
  assert.equal(earlierFragment('#token=a1B2'), '#token=a1B2/prompts');
  assert.equal(earlierFragment('#code=a-_1'), '#code=a-_1/prompts');
  assert.equal(earlierFragment('#token=a1B2/prompts/riddle'), '#token=a1B2/prompts/riddle');
  assert.equal(earlierFragment('#/prompts/riddle'), '#/prompts/riddle');
});
