// Texts that the server has not acknowledged, kept in the browser until it has.
//
// Every tab has drafts of its own. A tab that opens a document takes over the draft of a tab that no
// longer exists: open tabs hold a lock with their name.

import { newId } from './ids';
import type { Draft } from './session';

const PREFIX = 'oxikit.draft:';
const TAB = 'oxikit.tab';
/** Drafts of documents that nobody has opened for so long are removed. */
const MAX_AGE = 90 * 24 * 3_600_000;

interface Stored {
  at: number;
  tab: string;
  id: string;
  draft: Draft;
}

let tab = sessionStorage.getItem(TAB) ?? newId();

/** Takes the lock of this tab, under a new name if it is the copy of another tab. */
export async function claimTab(): Promise<void> {
  // Pages of other machines have no locks; there a draft is taken over whoever has it.
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
export function keepDraft(id: string, draft: Draft | null): void {
  const key = keyOf(id, tab);
  if (!draft) {
    localStorage.removeItem(key);
    return;
  }
  try {
    const stored: Stored = { at: Date.now(), tab, id, draft };
    localStorage.setItem(key, JSON.stringify(stored));
  } catch {
    // The storage is full or forbidden: the text stays on screen and is sent as soon as possible.
  }
}

/** The draft of a document, of this tab or of one that was closed; `null` if there is none. */
export async function adoptDraft(id: string): Promise<Draft | null> {
  const own = parse(localStorage.getItem(keyOf(id, tab)));
  if (own) return own.draft;
  const drafts = all().filter((stored) => stored.id === id);
  if (drafts.length === 0) return null;
  const locks = navigator.locks as LockManager | undefined;
  const held = (await locks?.query())?.held?.map((lock) => lock.name) ?? [];
  const orphans = drafts.filter((stored) => !held.includes(TAB + stored.tab));
  const newest = orphans.toSorted((a, b) => b.at - a.at)[0];
  if (!newest) return null;
  keepDraft(id, newest.draft);
  localStorage.removeItem(keyOf(id, newest.tab));
  return newest.draft;
}

/** Moves the draft of a document that has another id now. */
export function renameDraft(from: string, to: string): void {
  const own = parse(localStorage.getItem(keyOf(from, tab)));
  keepDraft(from, null);
  if (own) keepDraft(to, own.draft);
}

function removeOldDrafts(): void {
  for (const stored of all()) {
    if (Date.now() - stored.at > MAX_AGE) localStorage.removeItem(keyOf(stored.id, stored.tab));
  }
}

function keyOf(id: string, owner: string): string {
  return `${PREFIX}${owner}:${id}`;
}

function all(): Stored[] {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  return keys.map((key) => parse(localStorage.getItem(key))).filter((stored) => stored !== null);
}

function parse(text: string | null): Stored | null {
  if (!text) return null;
  try {
    const stored = JSON.parse(text) as Partial<Stored> | null;
    const draft = stored?.draft as Partial<Draft> | undefined;
    const isWhole =
      typeof stored?.at === 'number' &&
      typeof stored.tab === 'string' &&
      typeof stored.id === 'string' &&
      typeof draft?.base === 'string' &&
      typeof draft.baseRev === 'number' &&
      typeof draft.expected === 'string' &&
      typeof draft.text === 'string' &&
      typeof draft.awaited === 'number';
    return isWhole ? (stored as Stored) : null;
  } catch {
    return null;
  }
}
