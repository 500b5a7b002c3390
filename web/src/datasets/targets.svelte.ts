// The actions of the runtime that data sets and evaluations are about.

import { get } from '../api/tools';
import type { ActionList } from '../api/tools_types';
import { tools } from '../state/tools.svelte';
import { messageOf } from './dataset.svelte';

const RUNNABLE = ['flow', 'model', 'executable-prompt'];

class Targets {
  #keys = $state.raw<readonly string[]>([]);
  #error = $state<string | null>(null);

  /** Flows, models and prompts. */
  get runnable(): readonly string[] {
    return this.#keys.filter((key) => RUNNABLE.includes(key.split('/')[1] ?? ''));
  }

  get evaluators(): readonly string[] {
    return this.#keys.filter((key) => key.startsWith('/evaluator/'));
  }

  get error(): string | null {
    return this.#error;
  }

  async read(): Promise<void> {
    try {
      const { actions } = await get<ActionList>('/actions', { runtime: tools.runtime?.id });
      this.#keys = Object.keys(actions).toSorted();
      this.#error = null;
    } catch (error) {
      this.#error = messageOf(error);
    }
  }
}

export const targets = new Targets();
