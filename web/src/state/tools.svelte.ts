// What the page knows about the developer tools: runtimes, the application, and the one connection
// over which they report changes. After sleep or a restart it is opened again by itself.

import { streamEvents } from '../api/events';
import { ApiError, onUnauthorized, request } from '../api/http';
import { onSignedIn } from '../api/session';
import type { AppStatus, Info, RuntimeInfo, RuntimeList } from '../api/tools';

export type Link =
  | { state: 'connecting' }
  | { state: 'open' }
  /** The tools do not answer; `next` is the time of the next try. */
  | { state: 'waiting'; since: number; next: number; message: string }
  | { state: 'signIn' }
  /** This server is a prompt manager without the other areas. */
  | { state: 'absent' };

type Listener = (data: unknown) => void;

/** Pauses between two tries in milliseconds; the last one stays. */
const PAUSES = [500, 1_000, 2_000, 3_000, 5_000];
const RUNTIME = 'oxikit.runtime';

class Tools {
  #link = $state.raw<Link>({ state: 'connecting' });
  #info = $state.raw<Info | null>(null);
  #runtimes = $state.raw<readonly RuntimeInfo[]>([]);
  #app = $state.raw<AppStatus | null>(null);
  #chosen = $state(sessionStorage.getItem(RUNTIME));
  /** Counts connections: a part that depends on it reads its data again after each. */
  #connections = $state(0);
  readonly #listeners = new Map<string, Set<Listener>>();
  #isStarted = false;
  #lastId: string | null = null;
  #wake: (() => void) | null = null;
  /** Ends the connection. */
  #end: AbortController | null = null;

  get link(): Link {
    return this.#link;
  }

  get info(): Info | null {
    return this.#info;
  }

  get runtimes(): readonly RuntimeInfo[] {
    return this.#runtimes;
  }

  /** The process of the application; `null` if the tools did not start one. */
  get app(): AppStatus | null {
    return this.#app;
  }

  /** Counts connections, from 1. Use it in an effect that reads a list. */
  get connections(): number {
    return this.#connections;
  }

  /** The runtime that actions are run on: the chosen one, or the oldest. */
  get runtime(): RuntimeInfo | null {
    return this.#runtimes.find(({ id }) => id === this.#chosen) ?? this.#runtimes[0] ?? null;
  }

  /** The runtime that a person has chosen; `null` for all. */
  get chosenRuntime(): string | null {
    return this.#chosen;
  }

  chooseRuntime(id: string | null): void {
    this.#chosen = id;
    if (id === null) sessionStorage.removeItem(RUNTIME);
    else sessionStorage.setItem(RUNTIME, id);
  }

  /** Calls the function with the data of each event of a name: `$effect(() => tools.on('traces', …))`. */
  on<Data>(name: string, listener: (data: Data) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    const added = listener as Listener;
    listeners.add(added);
    return () => listeners.delete(added);
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    onUnauthorized(() => {
      this.#link = { state: 'signIn' };
      this.#end?.abort();
    });
    // Another tab has signed in: its cookie is that of this one.
    onSignedIn(() => this.retry());
    addEventListener('online', () => this.retry());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.retry();
    });
    void this.#follow();
  }

  /** Tries at once to connect again. */
  retry(): void {
    this.#wake?.();
  }

  async #follow(): Promise<void> {
    for (let failures = 0; ; failures += 1) {
      const opened = this.#connections;
      try {
        await this.#connect();
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) {
          this.#link = { state: 'absent' };
          return;
        }
        this.#fail(error, failures);
      }
      if (this.#connections > opened) failures = 0;
      const pause = PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 1_000;
      if (this.#link.state === 'open') this.#fail(new Error(''), failures);
      await this.#pause(pause);
    }
  }

  async #connect(): Promise<void> {
    const info = await request<Info>('GET', '/api/v1/info');
    const isOther = this.#info !== null && this.#info.pid !== info.pid;
    if (isOther) {
      // Its runtimes have other ids.
      this.#lastId = null;
      this.#runtimes = [];
    }
    this.#info = info;
    this.#end = new AbortController();
    const { signal } = this.#end;
    const opened = (): void => {
      this.#link = { state: 'open' };
      this.#connections += 1;
    };
    const headers: Record<string, string> = this.#lastId === null ? {} : { 'last-event-id': this.#lastId };
    const taken = (data: unknown, id: string | null, name: string): void => {
      if (id !== null) this.#lastId = id;
      this.#take(name, data);
    };
    await streamEvents<unknown>('GET', '/api/v1/events', { headers, signal }, taken, opened);
  }

  #take(name: string, data: unknown): void {
    if (name === 'runtimes') this.#runtimes = (data as RuntimeList).runtimes;
    else if (name === 'app') this.#app = data as AppStatus | null;
    else if (name === 'lagged') this.#connections += 1;
    for (const listener of this.#listeners.get(name) ?? []) listener(data);
  }

  #fail(error: unknown, failures: number): void {
    if (this.#link.state === 'signIn') return;
    const since = this.#link.state === 'waiting' ? this.#link.since : Date.now();
    const pause = PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 1_000;
    const message = error instanceof Error ? error.message : String(error);
    this.#link = { state: 'waiting', since, next: Date.now() + pause, message };
  }

  /** Waits, or until somebody wants a try at once. Without a cookie it waits for signing in. */
  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer =
        this.#link.state === 'signIn' ? undefined : setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => {
        this.#wake = null;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

export const tools = new Tools();
