// Documents as the API lists them.

import type { PromptDocument } from '../src/api/types';

/** A document with these members. */
export function documentWith(members: Partial<PromptDocument> & { id: string }): PromptDocument {
  const name = members.id.split('/').at(-1) ?? '';
  return {
    filename: `${members.id}.md`,
    directory: '/tea/prompts',
    directory_name: 'prompts',
    content: '',
    description: null,
    prompt_type: 'standard',
    tags: [],
    created_at: '2026-01-01T10:00:00.000Z',
    updated_at: '2026-01-01T10:00:00.000Z',
    name,
    display_name: members.id,
    unique_id: `prompts/${members.id}`,
    is_composite: false,
    kind: 'prompt',
    rev: 1,
    hash: '',
    is_dotprompt: false,
    ...members,
  };
}
