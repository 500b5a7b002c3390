// The state of the connection, as the bar at the bottom shows it. An area with a connection of its
// own, such as the editor of prompts, shows that one.

import { untrack } from 'svelte';

import { texts } from '../texts';
import type { IconName } from '../ui/icons';
import { tools } from './tools.svelte';

export interface ShownLink {
  icon: IconName;
  text: string;
  tone: 'off' | 'wait' | 'err';
  about?: string;
}

class CurrentLink {
  #providers = $state.raw<readonly (() => ShownLink)[]>([]);

  get shown(): ShownLink {
    return this.#shown;
  }

  /** Shows another connection while a part is shown. The result ends that. */
  use(provider: () => ShownLink): () => void {
    // An effect that registers something must not depend on what is registered.
    this.#providers = [provider, ...untrack(() => this.#providers)];
    return () => {
      this.#providers = untrack(() => this.#providers).filter((other) => other !== provider);
    };
  }

  readonly #shown = $derived(this.#providers[0]?.() ?? toolsLink());
}

export const link = new CurrentLink();

function toolsLink(): ShownLink {
  switch (tools.link.state) {
    case 'open':
      return { icon: 'live', text: texts.link.live, tone: 'off', about: texts.link.liveAbout };
    case 'connecting':
      return { icon: 'running', text: texts.link.connecting, tone: 'off' };
    case 'waiting':
      return { icon: 'pause', text: texts.link.ended, tone: 'wait' };
    default:
      return { icon: 'error', text: texts.link.ended, tone: 'err' };
  }
}
