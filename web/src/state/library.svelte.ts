// The list of all documents. The feed of changes keeps it up to date; where a server has no feed,
// the list is read again from time to time.

import { SvelteMap } from 'svelte/reactivity';

import { readEvents } from '../api/events';
import { ApiError, onUnauthorized } from '../api/http';
import { CHANGES, getDocument, listDirectories, listDocuments } from '../api/prompts';
import type { ChangeEvent, PromptDirectory, PromptDocument } from '../api/types';
import { documentOf, renamesBetween, type Owner } from '../live/owner';
import { Timers } from '../live/timers';

export type LibraryState =
  | { state: 'loading' }
  | { state: 'ready' }
  | { state: 'token' }
  | { state: 'failed'; message: string; since: number };

/** Pause before the feed is opened again, and between two readings without a feed. */
const FEED_PAUSE = 3_000;
const POLL_PAUSE = 15_000;
/** Time in which changes are collected: a person who types causes several a second. */
const COLLECT_TIME = 400;

class Library {
  #documents = $state.raw<PromptDocument[]>([]);
  #directories = $state.raw<PromptDirectory[]>([]);
  #state = $state<LibraryState>({ state: 'loading' });
  /** Counts changes of other documents, which previews and lists of uses depend on. */
  #version = $state(0);
  /** The new ids of documents by their old ones. */
  readonly #renames = new SvelteMap<string, string>();
  #isStarted = false;

  get documents(): readonly PromptDocument[] {
    return this.#documents;
  }

  get directories(): readonly PromptDirectory[] {
    return this.#directories;
  }

  get state(): LibraryState {
    return this.#state;
  }

  get version(): number {
    return this.#version;
  }

  find(id: string): PromptDocument | undefined {
    return this.#documents.find((document) => document.id === id);
  }

  /** The document with this id, or with this path, as links and applications name it. */
  at(path: string): PromptDocument | undefined {
    const isAt = ({ filename }: PromptDocument): boolean =>
      filename === path || filename.replace(/\.[^./]+$/, '') === path;
    return this.find(path) ?? this.#documents.find(isAt);
  }

  /** The document of a name as inclusions write it: its id, its path, or the name of its file. */
  named(name: string): PromptDocument | undefined {
    return this.at(name) ?? this.#documents.find((document) => document.name === name);
  }

  /** The document that had this id before it was renamed, if this page has noticed it. */
  renamed(id: string): PromptDocument | undefined {
    const seen = new Set([id]);
    for (let next = this.#renames.get(id); next !== undefined && !seen.has(next); next = this.#renames.get(next)) {
      const document = this.find(next);
      if (document) return document;
      seen.add(next);
    }
    return undefined;
  }

  /** The document that a draft belongs to, also if it was renamed. */
  documentOf(owner: Owner): PromptDocument | undefined {
    return documentOf(owner, this.#documents, this.renamed(owner.id)?.id);
  }

  /** Reads the list, and keeps it up to date from then on. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    onUnauthorized(() => (this.#state = { state: 'token' }));
    void this.#follow();
  }

  /** Reads the whole list again. */
  async reload(): Promise<void> {
    try {
      const [documents, directories] = await Promise.all([listDocuments(), listDirectories()]);
      for (const [from, to] of renamesBetween(this.#documents, documents)) this.#renames.set(from, to);
      this.#documents = documents.toSorted(byId);
      this.#directories = directories.filter((directory) => directory.enabled);
      this.#state = { state: 'ready' };
      this.#version += 1;
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Takes a document that this page has made or changed, before the feed tells it. */
  put(document: PromptDocument, oldId: string = document.id): void {
    if (oldId !== document.id) this.#renames.set(oldId, document.id);
    const others = this.#documents.filter(({ id }) => id !== oldId && id !== document.id);
    this.#documents = [...others, document].toSorted(byId);
    this.#version += 1;
  }

  remove(id: string): void {
    this.#documents = this.#documents.filter((document) => document.id !== id);
    this.#version += 1;
  }

  #fail(error: unknown): void {
    if (this.#state.state === 'token' || !(error instanceof ApiError)) return;
    const since = this.#state.state === 'failed' ? this.#state.since : Date.now();
    this.#state = { state: 'failed', message: error.message, since };
  }

  /**
   * Follows the feed for ever, while the page is visible: a browser opens few connections to one
   * server, and hidden tabs would take them all. What was missed is read when it is open again.
   */
  async #follow(): Promise<never> {
    for (;;) {
      await visible();
      let pause = FEED_PAUSE;
      const hidden = new AbortController();
      const watch = (): void => {
        if (document.hidden) hidden.abort();
      };
      document.addEventListener('visibilitychange', watch);
      try {
        const opened = (): void => void this.reload();
        await readEvents<ChangeEvent>(CHANGES, hidden.signal, opened, (event) => this.#take(event));
      } catch (error) {
        const isMissing = error instanceof ApiError && error.status === 404;
        if (hidden.signal.aborted) pause = 0;
        else if (isMissing) pause = POLL_PAUSE;
        if (isMissing) await this.reload();
        else this.#fail(error);
      }
      document.removeEventListener('visibilitychange', watch);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Documents that have changed, with their ids before. */
  readonly #changed = new Map<string, string>();
  readonly #timers = new Timers();

  #take(event: ChangeEvent): void {
    const { change, id, old_id: oldId } = event;
    if (change === 'reload' || !id) {
      void this.reload();
    } else if (change === 'deleted') {
      this.#changed.delete(id);
      this.remove(id);
    } else {
      this.#changed.set(id, oldId ?? this.#changed.get(id) ?? id);
      this.#timers.later('read', COLLECT_TIME, () => void this.#readChanged());
    }
  }

  async #readChanged(): Promise<void> {
    const changed = [...this.#changed];
    this.#changed.clear();
    try {
      for (const [id, oldId] of changed) this.put(await getDocument(id), oldId);
    } catch {
      // One was deleted in the meantime, or the list is more than these changes.
      await this.reload();
    }
  }
}

/** Resolves when the page is visible. */
function visible(): Promise<void> {
  return new Promise((resolve) => {
    if (!document.hidden) {
      resolve();
      return;
    }
    const changed = (): void => {
      if (document.hidden) return;
      document.removeEventListener('visibilitychange', changed);
      resolve();
    };
    document.addEventListener('visibilitychange', changed);
  });
}

function byId(a: PromptDocument, b: PromptDocument): number {
  return a.id.localeCompare(b.id, 'en', { numeric: true });
}

export const library = new Library();
