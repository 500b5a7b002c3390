import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Leftover } from '../src/live/drafts';
import type { Metadata } from '../src/live/metadata';
import { ownerOf } from '../src/live/owner';
import { copyOf, newDocument, recreated } from '../src/prompts/new_document';
import { documentWith } from './documents';

const METADATA: Metadata = { description: 'A tea', tags: ['hot'], promptType: 'system' };
const NOTHING: Metadata = { description: '', tags: [], promptType: null };
const DIRECTORY = '/tea/prompts';

test('a copy has the text and the metadata on screen, and a free name in the same folder', () => {
  const dad = documentWith({ id: 'dad', filename: 'jokes/dad.md' });
  const copy = { id: 'jokes/dad_copy', kind: 'prompt', content: 'Joke', directory: DIRECTORY, isDotprompt: false } as const;
  assert.deepEqual(copyOf(dad, 'Joke', METADATA, [dad]), {
    ...copy,
    description: 'A tea',
    tags: ['hot'],
    promptType: 'system',
  });
  assert.deepEqual(copyOf(dad, 'Joke', NOTHING, [dad]), copy);
  const taken = ['jokes/dad_copy.prompt', 'jokes/dad_copy_2.md'].map((filename) => documentWith({ id: filename, filename }));
  assert.equal(copyOf(dad, '', NOTHING, [dad, ...taken]).id, 'jokes/dad_copy_3');
  // The same name in another directory is free.
  const elsewhere = taken.map((document) => ({ ...document, directory: '/other' }));
  assert.equal(copyOf(dad, '', NOTHING, elsewhere).id, 'jokes/dad_copy');
});

test('a copy of a Dotprompt file has its metadata in its text', () => {
  const shop = documentWith({ id: 'shop', filename: 'shop.prompt', is_dotprompt: true });
  const template = copyOf(shop, '---\ndescription: A shop\n---\n', { ...NOTHING, description: 'A shop' }, [shop]);
  assert.deepEqual(Object.keys(template).toSorted(), ['content', 'directory', 'id', 'isDotprompt', 'kind']);
  const { kind, id } = template;
  assert.deepEqual(newDocument({ id, kind, description: '', directory: DIRECTORY }, template, 'Ada'), {
    id: 'shop_copy.prompt',
    content: '---\ndescription: A shop\n---\n',
    author: 'Ada',
    directory: DIRECTORY,
  });
});

test('a type that follows from the text, and that of a fragment, are left to the server', () => {
  const composite = documentWith({ id: 'tea', is_composite: true });
  const metadata: Metadata = { ...NOTHING, promptType: 'composite' };
  assert.equal('promptType' in copyOf(composite, '[[tone]]', metadata, []), false);
  assert.equal(copyOf({ ...composite, is_composite: false }, '', metadata, []).promptType, 'composite');
  const tone = documentWith({ id: 'tone', filename: 'fragments/tone.md', kind: 'fragment' });
  const template = copyOf(tone, 'Be kind.', { ...METADATA, promptType: null }, [tone]);
  assert.equal(template.id, 'fragments/tone_copy');
  const fields = { id: template.id, kind: template.kind, description: ' Kindness ', directory: '' };
  assert.deepEqual(newDocument(fields, template, ''), {
    id: 'fragments/tone_copy',
    content: 'Be kind.',
    author: '',
    description: 'Kindness',
    tags: ['hot'],
  });
});

test('an empty document is a standard prompt or a fragment', () => {
  const fields = { id: ' tea ', kind: 'prompt', description: '', directory: '' } as const;
  assert.deepEqual(newDocument(fields, null, 'Ada'), { id: 'tea', content: '', author: 'Ada', prompt_type: 'standard' });
  assert.deepEqual(newDocument({ ...fields, kind: 'fragment' }, null, 'Ada'), { id: 'tea', content: '', author: 'Ada' });
});

test('the document of a draft is made again where it was, or in a folder that there is', () => {
  const owner = ownerOf(documentWith({ id: 'tea' }));
  const leftover: Leftover = {
    key: '',
    at: 0,
    owner,
    content: 'Green tea.',
    metadata: METADATA,
    changed: { tags: ['hot'] },
  };
  const made = { id: 'tea', kind: 'prompt', content: 'Green tea.', directory: DIRECTORY, isDotprompt: false } as const;
  const members = { description: 'A tea', tags: ['hot'], promptType: 'system' };
  assert.deepEqual(recreated(leftover, [], ['/other', DIRECTORY]), { ...made, ...members });
  assert.deepEqual(recreated(leftover, [], ['/other']), { ...made, ...members, directory: '/other' });
  assert.equal(recreated(leftover, [documentWith({ id: 'tea' })], [DIRECTORY]).id, 'tea_2');
  // The text of a Dotprompt file has all metadata but the ones that were not saved.
  const dotprompt = { ...leftover, owner: { ...owner, path: 'tea.prompt', isDotprompt: true } };
  assert.deepEqual(recreated(dotprompt, [], [DIRECTORY]), { ...made, isDotprompt: true, tags: ['hot'] });
});
