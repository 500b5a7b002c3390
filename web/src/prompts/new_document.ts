// The requests that make documents: a new one, the copy of another one, and one from a text that could
// not be saved.

import type { DocumentKind, NewDocument, PromptDocument, PromptType } from '../api/types';
import type { Leftover } from '../live/drafts';
import type { Metadata } from '../live/metadata';

/** The beginning of a new document. Members that are absent are left to the server. */
export interface Template {
  /** The name of the file without extension, with its folder. */
  id: string;
  kind: DocumentKind;
  content?: string;
  /** The path of the registered directory. */
  directory?: string;
  description?: string;
  tags?: string[];
  promptType?: PromptType;
  /** Whether the file is a Dotprompt file, whose content has its front matter. */
  isDotprompt?: boolean;
}

/** The fields of the form. */
export interface Fields {
  id: string;
  kind: DocumentKind;
  description: string;
  directory: string;
}

const EXTENSION = /\.(?:md|prompt)$/;

/**
 * A copy of a document, in its folder, under a name that is free: relative inclusions mean the same there.
 * `content` and `metadata` are those on screen.
 */
export function copyOf(
  file: PromptDocument,
  content: string,
  metadata: Metadata,
  documents: readonly PromptDocument[],
): Template {
  const { kind, directory, is_dotprompt: isDotprompt, is_composite: isComposite } = file;
  const id = freeName(`${file.filename.replace(EXTENSION, '')}_copy`, directory, documents);
  const template = { id, kind, content, directory, isDotprompt };
  if (isDotprompt) return template;
  return { ...template, ...membersOf(metadata, kind, isComposite) };
}

/**
 * The document of a draft, which does not exist any more or is another one. `directories` are the paths of
 * the registered ones.
 */
export function recreated(
  { owner, content, metadata, changed }: Leftover,
  documents: readonly PromptDocument[],
  directories: readonly string[],
): Template {
  const { kind, isDotprompt } = owner;
  const directory = directories.find((path) => path === owner.directory) ?? directories[0] ?? '';
  const id = freeName(owner.path.replace(EXTENSION, ''), directory, documents);
  // The text of a Dotprompt file has all metadata but the changes that were not saved.
  const { description = '', tags = [], promptType = null } = isDotprompt ? changed : metadata;
  const template = { id, kind, content, directory, isDotprompt };
  return { ...template, ...membersOf({ description, tags, promptType }, kind, isComposite(content)) };
}

/** The request that makes the document of a form. */
export function newDocument(fields: Fields, template: Template | null, author: string): NewDocument {
  const { kind, directory } = fields;
  const isDotprompt = template?.isDotprompt ?? false;
  const description = fields.description.trim();
  const promptType = template ? template.promptType : 'standard';
  return {
    id: isDotprompt ? `${fields.id.trim().replace(EXTENSION, '')}.prompt` : fields.id.trim(),
    content: template?.content ?? '',
    author,
    ...(directory && { directory }),
    ...(description && { description }),
    ...(template?.tags && { tags: template.tags }),
    ...(kind === 'prompt' && promptType && { prompt_type: promptType }),
  };
}

function membersOf({ description, tags, promptType }: Metadata, kind: DocumentKind, isComposite: boolean) {
  // A standard prompt with inclusions is shown as a composite one, which is not written into its file.
  const isDeclared = kind === 'prompt' && promptType !== null && !(promptType === 'composite' && isComposite);
  return {
    ...(description && { description }),
    ...(tags.length > 0 && { tags }),
    ...(isDeclared && { promptType }),
  };
}

function isComposite(content: string): boolean {
  return content.includes('[[') && content.includes(']]');
}

/** The name itself if no file has it, else with a number. */
function freeName(name: string, directory: string, documents: readonly PromptDocument[]): string {
  const taken = new Set(
    documents
      .filter((document) => document.directory === directory)
      .map((document) => document.filename.replace(EXTENSION, '')),
  );
  for (let number = 2, free = name; ; number += 1) {
    if (!taken.has(free)) return free;
    free = `${name}_${number}`;
  }
}
