// Search in the list: names first, then descriptions and tags, then texts.

import type { PromptDocument } from '../api/types';

export interface Hit {
  document: PromptDocument;
  /** The line that is shown below the name: before, the part that fits, after. */
  about: [string, string, string];
}

/** Length of the text around a part that fits. */
const AROUND = 24;

/** The documents that contain the query, best first; without a query all, in their order. */
export function search(documents: readonly PromptDocument[], query: string): Hit[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return documents.map((document) => ({ document, about: [aboutOf(document), '', ''] }));
  const hits: (Hit & { rank: number })[] = [];
  for (const document of documents) {
    const hit = hitOf(document, wanted);
    if (hit) hits.push({ document, ...hit });
  }
  // Sorting is stable: equal ranks stay in the order of their names.
  return hits.sort((a, b) => a.rank - b.rank);
}

function hitOf(document: PromptDocument, wanted: string): { rank: number; about: Hit['about'] } | null {
  const at = document.id.toLowerCase().indexOf(wanted);
  const about = aboutOf(document);
  if (at === 0 || document.name.toLowerCase().startsWith(wanted)) return { rank: 0, about: [about, '', ''] };
  if (at > 0) return { rank: 1, about: [about, '', ''] };
  const places = [document.description ?? '', document.tags.map((tag) => `#${tag}`).join(' '), document.content];
  for (const [rank, text] of places.entries()) {
    const found = text.toLowerCase().indexOf(wanted);
    if (found >= 0) return { rank: rank + 2, about: around(text, found, wanted.length) };
  }
  return null;
}

function around(text: string, at: number, length: number): Hit['about'] {
  const start = Math.max(0, at - AROUND);
  const oneLine = (part: string): string => part.replace(/\s+/g, ' ');
  return [
    (start > 0 ? '…' : '') + oneLine(text.slice(start, at)),
    oneLine(text.slice(at, at + length)),
    oneLine(text.slice(at + length, at + length + 80)),
  ];
}

/** The line below the name: the description, or the beginning of the text. */
function aboutOf(document: PromptDocument): string {
  if (document.description) return document.description;
  const body = document.is_dotprompt ? document.content.replace(/^---\r?\n[^]*?\r?\n---\r?\n/, '') : document.content;
  return body.trimStart().slice(0, 120).replace(/^#+\s*/, '').replace(/\s+/g, ' ');
}
