// The actions of the runtime in use, for the count in the rail and for the command palette.

import { get } from '../api/tools';
import type { ActionDescriptor, ActionList } from '../api/tools_types';
import { rowsOf } from '../actions/keys';
import { tools } from './tools.svelte';

class Catalog {
  #actions = $state.raw<readonly ActionDescriptor[]>([]);

  /** All actions that a person runs: those that the list shows by default. */
  get actions(): readonly ActionDescriptor[] {
    return this.#actions;
  }

  /** Reads the actions of the runtime in use. Call it in an effect. */
  follow(): void {
    void tools.connections;
    const runtime = tools.runtime?.id;
    void this.#read(runtime);
  }

  async #read(runtime: string | undefined): Promise<void> {
    if (runtime === undefined) {
      this.#actions = [];
      return;
    }
    try {
      const { actions } = await get<ActionList>('/actions', { runtime });
      if (tools.runtime?.id !== runtime) return;
      this.#actions = rowsOf(actions).flatMap(({ isHelper, action }) => (isHelper ? [] : action));
    } catch {
      // The bar of the connection says that the tools do not answer.
    }
  }
}

export const catalog = new Catalog();
