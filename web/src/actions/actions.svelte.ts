// The actions of a runtime.

import { get } from '../api/tools';
import type { ActionList, SkippedAction } from '../api/tools_types';
import { rowsOf, type ActionRow } from './keys';

type State = { state: 'none' } | { state: 'reading' } | { state: 'ready' } | { state: 'failed'; message: string };

class Actions {
  #state = $state.raw<State>({ state: 'none' });
  #rows = $state.raw<readonly ActionRow[]>([]);
  #skipped = $state.raw<readonly SkippedAction[]>([]);
  /** The runtime of the rows. */
  #runtime = $state.raw<string | null>(null);
  #abort: AbortController | null = null;
  #reading: Promise<void> | null = null;

  get state(): State {
    return this.#state;
  }

  get rows(): readonly ActionRow[] {
    return this.#rows;
  }

  get skipped(): readonly SkippedAction[] {
    return this.#skipped;
  }

  get runtime(): string | null {
    return this.#runtime;
  }

  find(key: string): ActionRow | undefined {
    return this.#rows.find((row) => row.key === key);
  }

  /** Reads the actions of a runtime. What was read before stays until the answer comes. */
  read(runtime: string | null): Promise<void> {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    if (this.#state.state !== 'ready' || this.#runtime !== runtime) this.#state = { state: 'reading' };
    this.#reading = this.#read(runtime, abort.signal);
    return this.#reading;
  }

  /** Reads the actions unless they were read already. */
  readOnce(): Promise<void> {
    return this.#state.state === 'none' ? this.read(null) : (this.#reading ?? Promise.resolve());
  }

  async #read(runtime: string | null, signal: AbortSignal): Promise<void> {
    try {
      const list = await get<ActionList>('/actions', { runtime: runtime ?? undefined }, signal);
      this.#rows = rowsOf(list.actions);
      this.#skipped = list.skipped;
      this.#runtime = runtime;
      this.#state = { state: 'ready' };
    } catch (error) {
      if (signal.aborted) return;
      this.#state = { state: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
  }
}

export const actions = new Actions();
