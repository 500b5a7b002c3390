// The REST API of the prompt manager. Documents are named by `?id=`, which takes every id.

import { request, socketUrl } from './http';
import type {
  DocumentChange,
  DocumentKind,
  NewDocument,
  Preview,
  PromptDeleted,
  PromptDirectory,
  PromptDocument,
  PromptLabel,
  PromptRenamed,
  Reference,
  RenamePrompt,
  RevisionDiff,
  RevisionList,
  RevisionText,
  Suggestion,
} from './types';

const ROOT = '/api/prompts';

/** The path of the feed of changes. */
export const CHANGES = `${ROOT}/changes`;

/** The URL of the socket of a document. */
export function documentSocketUrl(id: string, kind: DocumentKind): string {
  const folder = kind === 'fragment' ? 'ws/fragments' : 'ws';
  return socketUrl(`${ROOT}/${folder}/${encodeURIComponent(id)}`);
}

/** All documents, with their contents. */
export async function listDocuments(): Promise<PromptDocument[]> {
  const [prompts, fragments] = await Promise.all([
    request<PromptDocument[]>('GET', `${ROOT}/all`),
    request<PromptDocument[]>('GET', `${ROOT}/fragments/`),
  ]);
  // A server may list fragments among the prompts.
  const byId = new Map([...prompts, ...fragments].map((document) => [document.id, document]));
  return [...byId.values()];
}

export function listDirectories(): Promise<PromptDirectory[]> {
  return request('GET', `${ROOT}/directories/all`);
}

export function getDocument(id: string): Promise<PromptDocument> {
  return request('GET', `${ROOT}/document`, { query: { id } });
}

export function createDocument(document: NewDocument, kind: DocumentKind): Promise<PromptDocument> {
  const path = kind === 'fragment' ? `${ROOT}/fragments/` : ROOT;
  return request('POST', path, { body: document });
}

export function changeDocument(id: string, change: DocumentChange): Promise<PromptDocument> {
  return request('PUT', `${ROOT}/document`, { query: { id }, body: change });
}

export function deleteDocument(id: string): Promise<PromptDeleted> {
  return request('DELETE', `${ROOT}/document`, { query: { id } });
}

export function undeleteDocument(id: string, author: string): Promise<PromptDocument> {
  return request('POST', `${ROOT}/undelete`, { query: { id }, body: { author } });
}

export function renameDocument(rename: RenamePrompt): Promise<PromptRenamed> {
  return request('POST', `${ROOT}/rename`, { body: rename });
}

export function referencedBy(id: string): Promise<Reference[]> {
  return request('GET', `${ROOT}/referenced_by`, { query: { id } });
}

export function suggestions(query: string, exclude: string): Promise<Suggestion[]> {
  return request('GET', `${ROOT}/search_suggestions`, { query: { query, exclude } });
}

/** What a model would get of a document, or of a draft of it. */
export function preview(
  id: string,
  content: string,
  variables: Record<string, unknown>,
  signal: AbortSignal,
): Promise<Preview> {
  return request('POST', `${ROOT}/preview`, { body: { id, content, variables }, signal });
}

/** Revisions, newest first. */
export function history(id: string, before?: number): Promise<RevisionList> {
  return request('GET', `${ROOT}/history`, { query: { id, before, limit: 100 } });
}

export function revision(id: string, rev: number): Promise<RevisionText> {
  return request('GET', `${ROOT}/history/${rev}`, { query: { id } });
}

export function diff(id: string, from: number, to: number): Promise<RevisionDiff> {
  return request('GET', `${ROOT}/diff`, { query: { id, from, to } });
}

export function restore(id: string, rev: number, author: string): Promise<PromptDocument> {
  return request('POST', `${ROOT}/restore`, { query: { id }, body: { rev, author } });
}

export function setLabel(id: string, label: string, rev: number): Promise<PromptLabel> {
  return request('PUT', `${ROOT}/labels/${encodeURIComponent(label)}`, { query: { id }, body: { rev } });
}

export function removeLabel(id: string, label: string): Promise<PromptLabel> {
  return request('DELETE', `${ROOT}/labels/${encodeURIComponent(label)}`, { query: { id } });
}
