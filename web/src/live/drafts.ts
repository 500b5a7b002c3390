// Changes that the server has not acknowledged, kept in the browser until it has.
//
// A draft belongs to one document of one project, its owner. An id is not enough: another project that
// is served at the same address may have a document with the same id, and must not get the draft.
//
// Every tab has drafts of its own. A tab that opens a document takes over the draft of a tab that no
// longer exists: open tabs hold a lock with their name.

import { newId } from './ids';
import { toDocument } from './line_ends';
import type { Metadata, MetadataChange } from './metadata';
import { isSameDocument, type Owner } from './owner';
import type { Draft } from './session';

const PREFIX = 'oxikit.draft:';
const TAB = 'oxikit.tab';
/** Drafts are removed when they were not changed for so long, in milliseconds. */
const MAX_AGE = 90 * 24 * 3_600_000;

/** The changes of a document that are not saved. */
export interface Unsaved {
  /** The texts; equal ones if only the metadata have changed. */
  draft: Draft;
  /** The metadata on screen. */
  metadata: Metadata;
  changes: readonly MetadataChange[];
}

/** A draft that is not sent by itself, because its document is gone or is another one. */
export interface Leftover {
  /** Its name in the storage of the browser. */
  key: string;
  /** The time of its last change, in milliseconds since 1970. */
  at: number;
  owner: Owner;
  /** The whole text, with the line ends of the document. */
  content: string;
  metadata: Metadata;
  /** The members of the metadata that are not saved. */
  changed: Partial<Metadata>;
}

interface Stored extends Unsaved {
  at: number;
  tab: string;
  owner: Owner;
}

interface Entry {
  key: string;
  stored: Stored;
}

let tab = sessionStorage.getItem(TAB) ?? newId();
let claimed: Promise<void> = Promise.resolve();
/** Drafts that the storage of the browser does not take. They last as long as the page. */
const unstored = new Map<string, string>();

/** Takes the lock of this tab, under a new name if it is the copy of another tab. */
export function claimTab(): Promise<void> {
  claimed = claim();
  return claimed;
}

async function claim(): Promise<void> {
  // Pages of other machines have no locks; there a draft is taken over even if its tab is open.
  const locks = navigator.locks as LockManager | undefined;
  for (let isHeld = false; locks && !isHeld; ) {
    isHeld = await new Promise<boolean>((resolve) => {
      const held = locks.request(TAB + tab, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        // The lock is held until the tab ends.
        return lock ? new Promise<never>(() => {}) : undefined;
      });
      held.catch(() => resolve(true));
    });
    if (!isHeld) tab = newId();
  }
  sessionStorage.setItem(TAB, tab);
  removeOldDrafts();
}

/** Keeps the draft of a document, or removes it if there is none. */
export function keepDraft(owner: Owner, unsaved: Unsaved | null): void {
  const key = keyOf(owner, tab);
  if (!unsaved) {
    remove(key);
    return;
  }
  const { draft, metadata, changes } = unsaved;
  write(key, { at: Date.now(), tab, owner, draft, metadata, changes });
}

/** Whether there is a draft for this id, of whichever document. */
export function hasDraft(id: string): boolean {
  return entries().some(({ stored }) => stored.owner.id === id);
}

/** The draft of a document, of this tab or of one that was closed; `null` if there is none. */
export async function adoptDraft(owner: Owner): Promise<Unsaved | null> {
  const drafts = await available();
  const own = drafts.filter(({ stored }) => stored.owner.id === owner.id && isSameDocument(stored.owner, owner));
  const found = own.find(({ stored }) => stored.tab === tab) ?? own[0];
  if (!found) return null;
  const { draft, metadata, changes } = found.stored;
  const unsaved = { draft, metadata, changes };
  keepDraft(owner, unsaved);
  if (found.key !== keyOf(owner, tab)) remove(found.key);
  return unsaved;
}

/**
 * The drafts that concern a document and are not sent as its edits: those of another document with its
 * id, further ones of closed tabs, and those that it has from before it was renamed. `isNow` tells whether
 * the document of an owner is this one now.
 */
export async function leftoversOf(owner: Owner, isNow: (other: Owner) => boolean): Promise<Leftover[]> {
  const concerns = ({ owner: other, tab: of }: Stored): boolean => {
    if (other.id !== owner.id) return isNow(other);
    return of !== tab || !isSameDocument(other, owner);
  };
  return (await available()).filter(({ stored }) => concerns(stored)).map(leftover);
}

/** The drafts for an id that no document has. */
export async function leftoversOfMissing(id: string): Promise<Leftover[]> {
  return (await available()).filter(({ stored }) => stored.owner.id === id).map(leftover);
}

/**
 * Makes a leftover the draft of a document, which is sent when the document is opened. `false` if the
 * document has a draft in this tab already.
 */
export function giveDraft(key: string, owner: Owner): boolean {
  const stored = parse(read(key));
  if (!stored || read(keyOf(owner, tab)) !== null) return false;
  keepDraft(owner, stored);
  remove(key);
  return true;
}

/** Removes a draft. The result brings it back. */
export function dropDraft(key: string): () => void {
  const stored = parse(read(key));
  remove(key);
  return () => {
    if (stored) write(key, stored);
  };
}

function removeOldDrafts(): void {
  for (const { key, stored } of entries()) {
    if (Date.now() - stored.at > MAX_AGE) remove(key);
  }
}

function leftover({ key, stored }: Entry): Leftover {
  const { at, owner, draft, metadata, changes } = stored;
  const changed = Object.assign({}, ...changes.map((change) => change.members)) as Partial<Metadata>;
  return { key, at, owner, content: toDocument(draft.base, draft.text), metadata, changed };
}

function keyOf({ id, directory, createdAt }: Owner, of: string): string {
  return PREFIX + [of, directory, createdAt, id].map(encodeURIComponent).join(':');
}

/** The drafts of this tab and of closed ones, the newest first. */
async function available(): Promise<Entry[]> {
  await claimed;
  const drafts = entries().toSorted((a, b) => b.stored.at - a.stored.at);
  if (drafts.length === 0) return drafts;
  const locks = navigator.locks as LockManager | undefined;
  const held = (await locks?.query())?.held?.map((lock) => lock.name) ?? [];
  return drafts.filter(({ stored }) => stored.tab === tab || !held.includes(TAB + stored.tab));
}

function entries(): Entry[] {
  const keys = new Set([...Object.keys(localStorage), ...unstored.keys()]);
  return [...keys]
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => ({ key, stored: parse(read(key)) }))
    .filter((entry): entry is Entry => entry.stored !== null);
}

function read(key: string): string | null {
  return unstored.get(key) ?? localStorage.getItem(key);
}

function write(key: string, stored: Stored): void {
  const text = JSON.stringify(stored);
  try {
    localStorage.setItem(key, text);
    unstored.delete(key);
  } catch {
    // The storage is full or forbidden.
    unstored.set(key, text);
  }
}

function remove(key: string): void {
  unstored.delete(key);
  localStorage.removeItem(key);
}

function parse(text: string | null): Stored | null {
  if (!text) return null;
  try {
    const stored = JSON.parse(text) as Partial<Stored & { id: string }> | null;
    const draft = stored?.draft as Partial<Draft> | undefined;
    const isWhole =
      typeof stored?.at === 'number' &&
      typeof stored.tab === 'string' &&
      typeof draft?.base === 'string' &&
      typeof draft.baseRev === 'number' &&
      typeof draft.expected === 'string' &&
      typeof draft.text === 'string' &&
      typeof draft.awaited === 'number';
    if (!isWhole) return null;
    if (typeof stored.owner?.id === 'string' && Array.isArray(stored.changes)) return stored as Stored;
    return typeof stored.id === 'string' ? withoutOwner(stored as Stored, stored.id) : null;
  } catch {
    return null;
  }
}

/** A draft of an earlier version, which has noted only the id of the document. It fits no document. */
function withoutOwner(stored: Stored, id: string): Stored {
  const owner: Owner = { id, directory: '', createdAt: '', path: id, kind: 'prompt', isDotprompt: false };
  return { ...stored, owner, metadata: { description: '', tags: [], promptType: null }, changes: [] };
}
