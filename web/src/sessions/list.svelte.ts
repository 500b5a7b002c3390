// Agents of the runtime, and their sessions.

import { SvelteMap } from 'svelte/reactivity';

import { tools } from '../state/tools.svelte';
import { getSession, listAgents, listSessions, sessionsWithText } from './api';
import { ownSession, ownSessions, ownSnapshot } from './own_sessions';
import { keyOf, merged } from './rows';
import { inputOf } from './turns';
import type { AgentSummary, Message, Session } from './types';

export type ListState = { state: 'loading' } | { state: 'ready' } | { state: 'failed'; message: string };

class SessionList {
  #agents = $state.raw<readonly AgentSummary[]>([]);
  #sessions = $state.raw<readonly Session[]>([]);
  #held = $state(0);
  #state = $state.raw<ListState>({ state: 'loading' });
  #found = $state.raw<ReadonlySet<string>>(new Set());
  #isFromTraces = $state(false);
  readonly #titles = new SvelteMap<string, string>();
  /** Tokens of the next pages, by agent. */
  #next = new Map<string, string>();
  readonly #asked = new Map<string, number>();
  #isReading = false;
  #isWanted = false;
  /** Whether somebody reads the list: then new rows are held back. */
  isRead = false;

  get agents(): readonly AgentSummary[] {
    return this.#agents;
  }

  get sessions(): readonly Session[] {
    return this.#sessions;
  }

  get state(): ListState {
    return this.#state;
  }

  /** New sessions that are held back. */
  get held(): number {
    return this.#held;
  }

  /** Sessions that the search of the tools found. */
  get found(): ReadonlySet<string> {
    return this.#found;
  }

  /** Whether the list is made from traces, because the runtime does not list its sessions. */
  get isFromTraces(): boolean {
    return this.#isFromTraces;
  }

  /** The last inputs of sessions by their keys, as far as they were read. */
  get titles(): ReadonlyMap<string, string> {
    return this.#titles;
  }

  agent(name: string): AgentSummary | null {
    return this.#agents.find((agent) => agent.name === name) ?? null;
  }

  /** Reads agents and sessions. `isOwn` says that a person has changed the list here. */
  async refresh(isOwn = false): Promise<void> {
    if (this.#isReading) {
      this.#isWanted = true;
      return;
    }
    this.#isReading = true;
    try {
      await this.#read(isOwn);
      this.#state = { state: 'ready' };
    } catch (error) {
      this.#state = { state: 'failed', message: error instanceof Error ? error.message : String(error) };
    }
    this.#isReading = false;
    if (this.#isWanted) {
      this.#isWanted = false;
      void this.refresh(isOwn);
    }
  }

  async #read(isOwn: boolean): Promise<void> {
    const runtime = tools.chosenRuntime ?? undefined;
    this.#agents = await listAgents(runtime);
    const stored = this.#agents.filter(({ hasStore }) => hasStore);
    const pages = await Promise.all(stored.map(({ name }) => listSessions(name, runtime)));
    this.#isFromTraces = pages.some(({ source }) => source === 'traces');
    this.#next = new Map(stored.flatMap(({ name }, at) => (pages[at]?.continuationToken ? [[name, pages[at].continuationToken]] : [])));
    const own = this.#agents.flatMap(({ name, hasStore }) => (hasStore ? [] : ownSessions(name)));
    const fresh = [...pages.flatMap(({ sessions }) => sessions), ...own].toSorted((a, b) => b.updatedAt - a.updatedAt);
    const { sessions, held } = merged(this.#sessions, fresh, isOwn || !this.isRead);
    this.#sessions = sessions;
    this.#held = held;
  }

  /** Takes in what was held back. */
  takeIn(): void {
    void this.refresh(true);
  }

  /** Reads the next pages of the agents that have more. */
  async more(): Promise<void> {
    if (this.#isReading || this.#next.size === 0) return;
    this.#isReading = true;
    const runtime = tools.chosenRuntime ?? undefined;
    const wanted = [...this.#next];
    this.#next = new Map();
    try {
      for (const [agent, after] of wanted) {
        const page = await listSessions(agent, runtime, after);
        if (page.continuationToken) this.#next.set(agent, page.continuationToken);
        const known = new Set(this.#sessions.map(keyOf));
        this.#sessions = [...this.#sessions, ...page.sessions.filter((session) => !known.has(keyOf(session)))];
      }
    } catch {
      this.#next = new Map(wanted);
    }
    this.#isReading = false;
  }

  /** Reads the last input of a session that is shown, unless it is known. */
  async wantTitle(session: Session): Promise<void> {
    const key = keyOf(session);
    if (this.#asked.get(key) === session.updatedAt) return;
    this.#asked.set(key, session.updatedAt);
    try {
      this.#titles.set(key, inputOf(await this.#messages(session)));
    } catch {
      // The row shows the id instead.
    }
  }

  async #messages({ agentName, sessionId }: Session): Promise<Message[]> {
    const own = ownSession(agentName, sessionId);
    if (own) return ownSnapshot(agentName, own.snapshotId)?.state?.messages ?? [];
    const { threads } = await getSession(agentName, sessionId, tools.chosenRuntime ?? undefined);
    return (threads['main'] ?? []) as Message[];
  }

  /** Searches the texts of all sessions. */
  async search(text: string): Promise<void> {
    this.#found = text.trim() ? await sessionsWithText(text).catch(() => new Set<string>()) : new Set();
  }
}

export const sessionList = new SessionList();
