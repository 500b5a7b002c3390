// The actions of the runtime in use, for the count in the rail and for the command palette.

import { get } from '../api/tools';
import type { ActionDescriptor, ActionList } from '../api/tools_types';
import { kindOfKey } from '../ui/kinds';
import { tools } from './tools.svelte';

/** Kinds that the tools use themselves and lists hide by default. */
const HELPERS = new Set(['agent-snapshot', 'agent-abort', 'tool.v2', 'util']);

class Catalog {
  #actions = $state.raw<readonly ActionDescriptor[]>([]);

  /** All actions that a person runs. */
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
      this.#actions = Object.values(actions).filter((action) => !HELPERS.has(kindOfKey(action.key)));
    } catch {
      // The bar of the connection says that the tools do not answer.
    }
  }
}

export const catalog = new Catalog();
