// Messages that are not sent yet, kept by session in the storage of the tab.

import { SvelteMap } from 'svelte/reactivity';

const PREFIX = 'oxikit.draft.session/';
const drafts = new SvelteMap<string, string>();

export interface Draft {
  text: string;
}

/** The draft of a session. */
export function draftOf({ agent, id }: { agent: string; id: string }): Draft {
  const key = `${PREFIX}${agent}/${id}`;
  return {
    get text() {
      return drafts.get(key) ?? sessionStorage.getItem(key) ?? '';
    },
    set text(text) {
      drafts.set(key, text);
      try {
        if (text) sessionStorage.setItem(key, text);
        else sessionStorage.removeItem(key);
      } catch {
        // The storage of the tab is full: the draft stays in memory.
      }
    },
  };
}
