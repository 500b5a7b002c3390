// The evaluations of the project, and those that are open.

import { get, remove } from '../api/tools';
import type { Done, EvalRun, EvalRunKey, EvaluationList } from '../api/tools_types';
import { messageOf } from '../datasets/dataset.svelte';

class Evaluations {
  #list = $state.raw<readonly EvalRunKey[] | null>(null);
  #error = $state<string | null>(null);
  #runs = $state.raw<ReadonlyMap<string, EvalRun>>(new Map());
  #failures = $state.raw<ReadonlyMap<string, string>>(new Map());

  /** Newest first; `null` until they are read. */
  get list(): readonly EvalRunKey[] | null {
    return this.#list;
  }

  get error(): string | null {
    return this.#error;
  }

  run(id: string | null | undefined): EvalRun | null {
    return (id && this.#runs.get(id)) || null;
  }

  failure(id: string | null): string | null {
    return (id && this.#failures.get(id)) || null;
  }

  async read(): Promise<void> {
    try {
      const { evaluations, warning } = await get<EvaluationList>('/evaluations', { limit: 1000 });
      this.#list = evaluations;
      this.#error = warning ?? null;
    } catch (error) {
      this.#error = messageOf(error);
    }
  }

  /** Reads an evaluation with its results. */
  async show(id: string): Promise<void> {
    try {
      const run = await get<EvalRun>(`/evaluations/${encodeURIComponent(id)}`);
      this.#runs = new Map([...this.#runs, [id, run]]);
      this.#failures = new Map([...this.#failures].filter(([other]) => other !== id));
    } catch (error) {
      this.#failures = new Map([...this.#failures, [id, messageOf(error)]]);
    }
  }

  async delete(id: string): Promise<void> {
    await remove<Done>(`/evaluations/${encodeURIComponent(id)}`);
    await this.read();
  }
}

export const evaluations = new Evaluations();
