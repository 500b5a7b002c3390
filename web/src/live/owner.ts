// Which document a draft belongs to. The id is not enough: a document may be renamed, also while the page is
// offline, and another project at the same address may have a document with the same id.

import type { DocumentKind, PromptDocument } from '../api/types';

/** The document that a draft belongs to. */
export interface Owner {
  id: string;
  /** The path of the registered directory. */
  directory: string;
  /** The time of the first revision. It stays the same when the document is renamed. */
  createdAt: string;
  /** The path of the file below the directory. */
  path: string;
  kind: DocumentKind;
  isDotprompt: boolean;
}

/** The owner of the drafts of a document. */
export function ownerOf(document: PromptDocument): Owner {
  const { id, directory, created_at: createdAt, filename: path, kind, is_dotprompt: isDotprompt } = document;
  return { id, directory, createdAt, path, kind, isDotprompt };
}

/** Whether both are the same document. Its id may have changed. */
export function isSameDocument(a: Owner, b: Owner): boolean {
  return a.directory === b.directory && a.createdAt === b.createdAt;
}

/**
 * The document of a list that has this owner, also under another id; `undefined` if there is none, or if
 * several fit. `renamed` is the new id of the owner's document, if it is known.
 */
export function documentOf(
  owner: Owner,
  documents: readonly PromptDocument[],
  renamed?: string,
): PromptDocument | undefined {
  const same = documents.filter((document) => isSameDocument(ownerOf(document), owner));
  const named = same.find(({ id }) => id === owner.id) ?? same.find(({ id }) => id === renamed);
  return named ?? (same.length === 1 ? same[0] : undefined);
}

/** The documents of `before` that have another id in `after`: their old and their new ids. */
export function renamesBetween(
  before: readonly PromptDocument[],
  after: readonly PromptDocument[],
): [from: string, to: string][] {
  const gone = byHistory(difference(before, after));
  const come = byHistory(difference(after, before));
  const found: [string, string][] = [];
  for (const [history, [from, ...others]] of gone) {
    const [to, ...further] = come.get(history) ?? [];
    // Documents that were made in the same millisecond cannot be told apart.
    if (from && to && others.length === 0 && further.length === 0) found.push([from.id, to.id]);
  }
  return found;
}

/** The documents of a list whose ids are not in the other one. */
function difference(list: readonly PromptDocument[], other: readonly PromptDocument[]): PromptDocument[] {
  const ids = new Set(other.map(({ id }) => id));
  return list.filter(({ id }) => !ids.has(id));
}

/** Documents by directory and time of the first revision, which a rename does not change. */
function byHistory(documents: readonly PromptDocument[]): Map<string, PromptDocument[]> {
  const groups = new Map<string, PromptDocument[]>();
  for (const document of documents) {
    const history = `${document.created_at} ${document.directory}`;
    groups.set(history, [...(groups.get(history) ?? []), document]);
  }
  return groups;
}
