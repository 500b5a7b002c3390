// An open session: its snapshots, what is known of its traces, and what a person does with it.

import { SvelteMap } from 'svelte/reactivity';

import { ApiError } from '../api/http';
import type { TraceInfo } from '../api/tools_types';
import { tools } from '../state/tools.svelte';
import { abortSession, deleteSession, exportTraces, forkSession, getSession, getSnapshot, tracesOf, type TurnStart } from './api';
import { LiveTurn, liveTurns } from './live_turns.svelte';
import { deleteOwn, forkOwn, keepTurn, newId, ownSession, ownSnapshot } from './own_sessions';
import { sessionList } from './list.svelte';
import { leaves, pathTo } from './tree';
import type { Message, SessionDetails, Snapshot, SnapshotInfo, State, TurnInput } from './types';

/** Maximum number of branches whose inputs are read for the timeline. */
const MAX_BRANCHES = 20;

export class OpenSession {
  readonly agent: string;
  readonly id: string;
  #details = $state.raw<SessionDetails | null>(null);
  #failure = $state<string | null>(null);
  #isMissing = $state(false);
  #traces = $state.raw<readonly TraceInfo[]>([]);
  readonly #snapshots = new SvelteMap<string, Snapshot>();
  readonly #asked = new Set<string>();

  constructor(agent: string, id: string) {
    this.agent = agent;
    this.id = id;
  }

  get details(): SessionDetails | null {
    return this.#details;
  }

  get failure(): string | null {
    return this.#failure;
  }

  /** Whether the agent has no session with this id. */
  get isMissing(): boolean {
    return this.#isMissing;
  }

  get traces(): readonly TraceInfo[] {
    return this.#traces;
  }

  /** The turn that this page runs, or the last one that it ran. */
  get live(): LiveTurn | null {
    return liveTurns.of(this.agent, this.id);
  }

  /** Whether the runtime keeps the sessions of this agent; `null` until it is known. */
  get hasStore(): boolean | null {
    return sessionList.agent(this.agent)?.hasStore ?? null;
  }

  /** Whether the runtime can copy and delete sessions. Other runtimes than oxikit's can only branch. */
  get canFork(): boolean {
    return this.#details?.metadata['source'] !== 'snapshots';
  }

  snapshot(id: string | null): Snapshot | null {
    return id === null ? null : (this.#snapshots.get(id) ?? null);
  }

  /** Reads the session again, and what is shown of it. */
  async refresh(): Promise<void> {
    // The first turn of a new session: the session exists at its end.
    if (this.live?.phase === 'running' && !this.#details) return;
    try {
      const before = this.#details;
      this.#details = await this.#read();
      this.#failure = null;
      this.#isMissing = false;
      this.#forgetChanged(before, this.#details);
      this.#forgetLive(this.#details);
      await Promise.all(leaves(this.#details.snapshots).slice(-MAX_BRANCHES).map(({ snapshotId }) => this.want(snapshotId)));
    } catch (error) {
      this.#isMissing = error instanceof ApiError && error.status === 404;
      this.#failure = error instanceof Error ? error.message : String(error);
    }
    this.#traces = await tracesOf(this.id).catch(() => this.#traces);
  }

  async #read(): Promise<SessionDetails> {
    const own = ownSession(this.agent, this.id);
    return own ?? getSession(this.agent, this.id, this.#runtime);
  }

  /** A snapshot of a turn that ran has another content when it has ended. */
  #forgetChanged(before: SessionDetails | null, after: SessionDetails): void {
    const statuses = new Map(before?.snapshots.map(({ snapshotId, status }) => [snapshotId, status]));
    for (const { snapshotId, status } of after.snapshots) {
      if (statuses.has(snapshotId) && statuses.get(snapshotId) !== status) this.#asked.delete(snapshotId);
    }
  }

  /** A turn of this page whose snapshot is complete is shown from the snapshot. */
  #forgetLive({ snapshots }: SessionDetails): void {
    const { live } = this;
    if (!live || live.phase === 'running') return;
    const id = live.state.result?.finishReason === 'detached' ? live.state.result.snapshotId : live.state.snapshotId;
    // Some runtimes finish a turn whose reader has left.
    const isLater = ({ parentId, createdAt }: SnapshotInfo): boolean =>
      live.phase === 'stopped' && (parentId ?? null) === live.from && createdAt >= live.startedAt;
    const isStored = snapshots.some((one) => one.status !== 'pending' && (one.snapshotId === id || isLater(one)));
    if (isStored || (live.phase === 'ended' && this.hasStore === false)) liveTurns.forget(live);
  }

  /** Reads a snapshot, unless it is known. */
  async want(id: string): Promise<void> {
    if (this.#asked.has(id)) return;
    this.#asked.add(id);
    try {
      const own = ownSnapshot(this.agent, id);
      this.#snapshots.set(id, own ?? (await getSnapshot(this.agent, id, this.#runtime)));
    } catch (error) {
      this.#asked.delete(id);
      this.#failure = error instanceof Error ? error.message : String(error);
    }
  }

  /** Messages of a snapshot; those of an unfinished one are those of the turn before. */
  messagesAt(id: string | null): readonly Message[] {
    const found = this.snapshot(id)?.state?.messages;
    if (found) return found;
    // The session has the messages of its newest snapshot, before the snapshot itself is read.
    const { details } = this;
    if (id !== null && details?.snapshotId === id && !this.#snapshots.has(id)) return (details.threads['main'] ?? []) as Message[];
    const parent = this.snapshot(id)?.parentId ?? null;
    return parent && parent !== id ? (this.snapshot(parent)?.state?.messages ?? []) : [];
  }

  /** Starts a turn from a snapshot; `null` goes on from the newest one. */
  async send(input: TurnInput, from: string | null): Promise<LiveTurn> {
    const start = this.#startOf(from);
    const turn = new LiveTurn(this.agent, this.id, from ?? this.#details?.snapshotId ?? null, input);
    await liveTurns.start(turn, start);
    const { result } = turn.state;
    if (this.hasStore === false && result) keepTurn(this.agent, this.id, turn.from, result);
    await this.refresh();
    void sessionList.refresh(true);
    return turn;
  }

  #startOf(from: string | null): TurnStart {
    if (this.hasStore !== false) return { sessionId: this.id, ...(from !== null && { snapshotId: from }) };
    const path = pathTo(this.#details?.snapshots ?? [], from ?? this.#details?.snapshotId ?? null);
    const good = path.findLast(({ status }) => status === 'completed');
    const state: State = ownSnapshot(this.agent, good?.snapshotId ?? '')?.state ?? { messages: [], artifacts: [] };
    return { state: { ...state, sessionId: this.id } };
  }

  /** Stops the running turn: the one of this page, or one in the background. */
  async stop(): Promise<void> {
    if (this.live?.phase === 'running') this.live.stop();
    else {
      await abortSession(this.agent, this.id, this.#runtime);
      await this.refresh();
    }
  }

  /** Copies the session up to a snapshot. Answers the id of the new one. */
  async fork(snapshotId: string): Promise<string> {
    const isOwn = ownSnapshot(this.agent, snapshotId) !== null;
    const forked = isOwn ? forkOwn(this.agent, snapshotId) : await forkSession(this.agent, this.id, snapshotId, this.#runtime);
    void sessionList.refresh(true);
    return forked.sessionId;
  }

  async remove(): Promise<void> {
    if (ownSession(this.agent, this.id)) deleteOwn(this.agent, this.id);
    else await deleteSession(this.agent, this.id, this.#runtime);
    void sessionList.refresh(true);
  }

  /** The session with all of its snapshots and its traces. */
  async exported(): Promise<unknown> {
    const session = await this.#read();
    await Promise.all(session.snapshots.map(({ snapshotId }) => this.want(snapshotId)));
    const snapshots = session.snapshots.flatMap(({ snapshotId }) => this.#snapshots.get(snapshotId) ?? []);
    // The traces of the session may have been deleted already.
    const traces = this.#traces.length === 0 ? [] : await exportTraces(this.id).then((one) => one.traces).catch(() => []);
    return { sessionId: this.id, agentName: this.agent, session, snapshots, traces };
  }

  get #runtime(): string | undefined {
    return tools.chosenRuntime ?? undefined;
  }
}

/** A session that does not exist yet: its first turn makes it. */
export function newSession(agent: string): OpenSession {
  return new OpenSession(agent, newId());
}
