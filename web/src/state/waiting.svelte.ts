// Sessions that wait for the answer of a person: the rail counts them, the overview shows them.

import { request } from '../api/http';
import type { AgentList, SessionInfo, SessionList, SessionSnapshot } from '../api/tools_types';
import { later } from '../ui/later';
import { questionOf, type Asked } from './question';
import { tools } from './tools.svelte';

export interface WaitingSession extends Asked {
  agent: string;
  sessionId: string;
  /** When its latest snapshot was written, in milliseconds since 1970. */
  since: number;
}

/** Sessions of one agent that are looked at. */
const MAX_SESSIONS = 50;
/** Waiting sessions whose question is read. */
const MAX_SHOWN = 10;
/** Pause in milliseconds after a change before the sessions are read again. */
const PAUSE = 700;

class Waiting {
  #sessions = $state.raw<readonly WaitingSession[]>([]);
  #count = $state(0);
  readonly #questions = new Map<string, WaitingSession>();

  /** The newest of them, newest first. */
  get sessions(): readonly WaitingSession[] {
    return this.#sessions;
  }

  /** The number of all of them. */
  get count(): number {
    return this.#count;
  }

  /** Reads the sessions now and after changes. Call it in an effect; the result ends that. */
  follow(): () => void {
    const read = later(PAUSE, () => void this.read());
    void this.read();
    const ends = [tools.on('traces', read.soon), tools.on('sessions', read.soon), read.cancel];
    return () => ends.forEach((end) => end());
  }

  /** Reads the sessions. What is shown stays if the tools do not answer. */
  async read(): Promise<void> {
    try {
      const found = (await waitingSessions()).toSorted((a, b) => b.updatedAt - a.updatedAt);
      const shown = await Promise.all(found.slice(0, MAX_SHOWN).map((session) => this.#asked(session)));
      this.#count = found.length;
      this.#sessions = shown;
    } catch {
      // The bar of the connection says that the tools do not answer.
    }
  }

  async #asked(session: SessionInfo): Promise<WaitingSession> {
    const key = `${session.agentName}/${session.sessionId}/${session.updatedAt}`;
    const known = this.#questions.get(key);
    if (known) return known;
    const path = `/api/agents/${encodeURIComponent(session.agentName)}/snapshot`;
    const query = { sessionId: session.sessionId };
    const snapshot = await request<SessionSnapshot>('GET', path, { query });
    const asked = { ...questionOf(snapshot), ...namesOf(session) };
    this.#questions.set(key, asked);
    return asked;
  }
}

export const waiting = new Waiting();

async function waitingSessions(): Promise<SessionInfo[]> {
  if (tools.runtimes.length === 0) return [];
  const { agents } = await request<AgentList>('GET', '/api/agents');
  const stored = Object.values(agents).filter((agent) => agent.hasStore);
  const lists = await Promise.allSettled(
    stored.map((agent) => {
      const query = { status: 'active', limit: MAX_SESSIONS };
      return request<SessionList>('GET', `/api/agents/${encodeURIComponent(agent.name)}/sessions`, { query });
    }),
  );
  const sessions = lists.flatMap((list) => (list.status === 'fulfilled' ? list.value.sessions : []));
  return sessions.filter((session) => session.finishReason === 'interrupted');
}

function namesOf(session: SessionInfo): Pick<WaitingSession, 'agent' | 'sessionId' | 'since'> {
  return { agent: session.agentName, sessionId: session.sessionId, since: session.updatedAt };
}
