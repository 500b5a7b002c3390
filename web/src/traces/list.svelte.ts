// The list of traces: pages by cursor, and what is new since they were read.

import type { TraceInfo } from '../api/tools_types';
import { listTraces } from './api';
import { MAX_HELD, MAX_RATE, merge, Rate } from './live';
import { type Filter, filterOf, parseQuery, type Term } from './query';

/** Rows of the first page: what a screen needs. */
const FIRST = 100;
/** Rows of each further page. */
const PAGE = 1000;
/** The newest traces are asked for at most so often, in milliseconds. */
const PAUSE = 250;
/** Pages that are read in a row while the page itself filters and finds nothing. */
const MAX_SEARCHED = 20;
/** Rows at the start of the list that are looked through for changes. */
const MAX_CHANGED = 5000;

export class TraceRows {
  rows = $state.raw<TraceInfo[]>([]);
  held = $state.raw<TraceInfo[]>([]);
  /** The number of new rows that are held back; `held` may have fewer. */
  heldCount = $state(0);
  isFast = $state(false);
  /** Whether more traces came than were asked for: taking them in reads the list again. */
  hasGap = $state(false);
  terms = $state.raw<Term[]>([]);
  isLoading = $state(true);
  isReading = $state(false);
  error = $state.raw<unknown>(null);
  /** The number of traces that were read, if the page itself filters. */
  searched = $state(0);
  hasMore = $state(false);
  /** The number of all stored traces, whatever the filter; `null` before it is known. */
  total = $state<number | null>(null);
  isPartial = $state(false);

  #filter: Filter = filterOf([], 0);
  #token: string | null = null;
  #reader = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #changed = new Map<string, TraceInfo>();
  readonly #rate = new Rate();
  /** Tells whether new rows may be put on screen. */
  mayInsert: () => boolean = () => false;

  /** Reads the list from its start. Rows on screen stay until the answer. */
  async read(query: string): Promise<void> {
    this.#reader.abort();
    this.#reader = new AbortController();
    const { signal } = this.#reader;
    this.terms = parseQuery(query);
    this.#filter = filterOf(this.terms, Date.now());
    this.isPartial = this.#filter.isPartial;
    this.isLoading = true;
    this.error = null;
    try {
      const page = await listTraces(this.#filter.parameters, FIRST, null, signal);
      this.#start(page.traces);
      this.total = page.total ?? null;
      this.#goOn(page.continuationToken);
      this.isLoading = false;
      if (this.rows.length === 0 && this.hasMore) await this.more();
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
      this.isLoading = false;
    }
  }

  #start(traces: TraceInfo[]): void {
    this.rows = traces.filter(this.#filter.matches);
    this.searched = traces.length;
    this.#release();
  }

  #goOn(token: string | null | undefined): void {
    this.#token = token ?? null;
    this.hasMore = this.#token !== null;
  }

  #release(): void {
    this.held = [];
    this.heldCount = 0;
    this.hasGap = false;
  }

  /** Reads the next page. If the page itself filters, it goes on until rows were found. */
  async more(): Promise<void> {
    if (this.isReading || this.isLoading || this.#token === null || this.error !== null) return;
    const { signal } = this.#reader;
    this.isReading = true;
    try {
      for (let pages = 0, found = 0; pages < MAX_SEARCHED && found === 0 && this.#token !== null; pages += 1) {
        const page = await listTraces(this.#filter.parameters, PAGE, this.#token, signal);
        const older = page.traces.filter(this.#filter.matches);
        found = older.length;
        this.searched += page.traces.length;
        if (found > 0) this.rows = this.rows.concat(older);
        this.#goOn(page.continuationToken);
      }
    } catch (error) {
      if (!signal.aborted) this.error = error;
    } finally {
      this.isReading = false;
    }
  }

  /** Asks for the newest traces soon: the tools have told that some have changed, and which. */
  refresh(changed: readonly TraceInfo[] = []): void {
    for (const trace of changed) this.#changed.set(trace.traceId, trace);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#ask();
    }, PAUSE);
  }

  async #ask(): Promise<void> {
    if (this.#isAsking || this.isLoading) {
      this.refresh();
      return;
    }
    this.#isAsking = true;
    const { signal } = this.#reader;
    try {
      const page = await listTraces(this.#filter.parameters, FIRST, null, signal);
      if (signal.aborted) return;
      this.#takeChanged();
      this.total = page.total ?? null;
      this.#take(page.traces);
      this.error = null;
    } catch {
      // The frame says that the tools do not answer; after that the list is read again.
    } finally {
      this.#isAsking = false;
    }
  }

  /** Changes known rows in place, also those that are not among the newest any more. */
  #takeChanged(): void {
    const changed = this.#changed;
    this.#changed = new Map();
    if (changed.size === 0 || !this.rows.slice(0, MAX_CHANGED).some(({ traceId }) => changed.has(traceId))) return;
    this.rows = this.rows.map((trace, index) => (index < MAX_CHANGED ? (changed.get(trace.traceId) ?? trace) : trace));
  }

  #take(traces: readonly TraceInfo[]): void {
    const newest = traces.filter(this.#filter.matches);
    const isEmpty = this.rows.length === 0;
    const merged = merge(this.rows, this.held, newest, false);
    const rate = this.#rate.add(merged.fresh, performance.now());
    this.isFast = rate > MAX_RATE;
    if (!merged.isChanged) return;
    if (!isEmpty && traces.length === FIRST && merged.fresh === newest.length) this.hasGap = true;
    const isShown = isEmpty || (!this.isFast && !this.hasGap && this.heldCount <= MAX_HELD && this.mayInsert());
    this.heldCount += merged.fresh;
    this.rows = isShown ? [...merged.held, ...merged.rows] : merged.rows;
    if (isShown) this.#release();
    else this.held = merged.held.slice(0, MAX_HELD);
  }

  /** Puts the rows that were held back into the list; the number of rows that were added before the others. */
  takeIn(query: string): number {
    const { held } = this;
    if (this.hasGap || this.heldCount > held.length) {
      void this.read(query);
      return 0;
    }
    this.rows = [...held, ...this.rows];
    this.#release();
    return held.length;
  }

  /** Takes a deleted trace out of the list. */
  drop(id: string): void {
    this.rows = this.rows.filter(({ traceId }) => traceId !== id);
    this.held = this.held.filter(({ traceId }) => traceId !== id);
  }

  /** Changes a row in place. */
  replace(trace: TraceInfo): void {
    const at = this.rows.findIndex(({ traceId }) => traceId === trace.traceId);
    if (at >= 0) this.rows = this.rows.with(at, trace);
  }

  close(): void {
    this.#reader.abort();
    clearTimeout(this.#timer);
  }
}
