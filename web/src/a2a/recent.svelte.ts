// Agents that were looked at, kept in this browser, and the one that the application tells of.

import { tools } from '../state/tools.svelte';

const STORED = 'oxikit.a2a';
/** Maximum number of agents that are kept. The oldest are dropped. */
const MAX_RECENT = 20;

export interface RecentAgent {
  url: string;
  name: string;
}

class Recent {
  #agents = $state.raw<readonly RecentAgent[]>(read());

  get agents(): readonly RecentAgent[] {
    return this.#agents;
  }

  /** URLs in the log of the application, such as that of the demo's agent. */
  get told(): readonly string[] {
    const found = (tools.app?.lastLines ?? []).flatMap((line) => urlsIn(String(line)));
    const known = new Set(this.#agents.map(({ url }) => url));
    return [...new Set(found)].filter((url) => !known.has(url));
  }

  add(agent: RecentAgent): void {
    this.#keep([agent, ...this.#agents.filter(({ url }) => url !== agent.url)].slice(0, MAX_RECENT));
  }

  remove(url: string): void {
    this.#keep(this.#agents.filter((agent) => agent.url !== url));
  }

  #keep(agents: readonly RecentAgent[]): void {
    this.#agents = agents;
    localStorage.setItem(STORED, JSON.stringify(agents));
  }
}

export const recent = new Recent();

/** URLs of A2A agents in a line of a log. */
export function urlsIn(line: string): string[] {
  // Colours of a terminal.
  const plain = line.replaceAll(/\u001b\[[\d;]*m/g, '');
  return /a2a/i.test(plain) ? (plain.match(/https?:\/\/[^\s"'<>]+\/a2a\/[^\s"'<>]+/g) ?? []) : [];
}

function read(): RecentAgent[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(STORED) ?? '[]');
    const isAgent = (one: unknown): one is RecentAgent =>
      typeof one === 'object' && one !== null && typeof (one as RecentAgent).url === 'string';
    return Array.isArray(stored) ? stored.filter(isAgent) : [];
  } catch {
    return [];
  }
}
