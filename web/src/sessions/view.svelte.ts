// What is shown of an open session: the chosen snapshot, the branch it is on, and where the next
// message goes on from.

import { catalog } from '../state/catalog.svelte';
import { place } from '../state/place.svelte';
import { readOnlyTools } from '../state/tool_effects';
import { tools } from '../state/tools.svelte';
import { effectsOf, type Effects } from './effects';
import { waitingIn, type Waiting } from './interrupts';
import { traceOf } from './rows';
import { sessionList } from './list.svelte';
import type { OpenSession } from './session.svelte';
import { texts } from './texts';
import { leaves, pathTo, rowsOf, tipOf, type Row } from './tree';
import { inputOf, turnsOf, type Turn } from './turns';
import type { SnapshotInfo } from './types';

/** The views of the inspector. */
export const VIEWS = ['timeline', 'state', 'artifacts', 'raw'] as const;
export type View = (typeof VIEWS)[number];

/** An earlier turn that the next message goes on from. */
export interface Base {
  /** `null` starts a new session. */
  snapshotId: string | null;
  /** The turn whose input is edited; `null` if the message is a new one. */
  edited: number | null;
}

interface Fork {
  sessionId: string;
  snapshotId: string;
}

export class SessionView {
  readonly session: OpenSession;
  #base = $state.raw<Base | null>(null);

  constructor(session: OpenSession) {
    this.session = session;
  }

  get base(): Base | null {
    return this.#base;
  }

  set base(base: Base | null) {
    this.#base = base;
  }

  get view(): View {
    return VIEWS.find((view) => view === place.query['view']) ?? 'timeline';
  }

  /** The chosen snapshot: that of the URL, or the newest one. */
  get at(): string | null {
    return this.#at;
  }

  /** The end of the branch with the chosen snapshot. */
  get tip(): string | null {
    return this.#tip;
  }

  /** The snapshots up to the end of the branch. */
  get path(): readonly SnapshotInfo[] {
    return this.#path;
  }

  /** The snapshots up to the chosen one. */
  get chosenPath(): readonly SnapshotInfo[] {
    return this.#chosenPath;
  }

  get rows(): readonly Row[] {
    return this.#rows;
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  get chosen(): Row | null {
    return this.#rows.find(({ snapshot }) => snapshot.snapshotId === this.#at) ?? null;
  }

  /** The snapshot that the chosen one is compared with: the marked one, or its parent. */
  get before(): string | null {
    const marked = this.marked;
    if (marked && marked !== this.#at) return marked;
    return this.chosen?.snapshot.parentId ?? null;
  }

  /** The snapshot that is marked to compare. */
  get marked(): string | null {
    const id = place.query['with'];
    return this.#rows.some(({ snapshot }) => snapshot.snapshotId === id) ? (id ?? null) : null;
  }

  /** The inputs of the turns by their snapshots, as far as they were read. */
  get inputs(): ReadonlyMap<string, string> {
    return this.#inputs;
  }

  /** Tools that wait at the end of the branch. */
  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  get branches(): number {
    return new Set(this.#rows.map(({ branch }) => branch)).size;
  }

  /** The newest completed snapshot of the branch: the next message goes on from it. */
  get good(): SnapshotInfo | null {
    return this.#path.findLast(({ status }) => status === 'completed') ?? null;
  }

  get isRunning(): boolean {
    return this.session.live?.phase === 'running' || this.isInBackground;
  }

  /** Whether a turn runs that no reader is connected to. */
  get isInBackground(): boolean {
    return this.#path.at(-1)?.status === 'pending';
  }

  /** Why no message can be sent; `null` if one can. */
  get closed(): string | null {
    const at = texts.closed;
    if (tools.link.state === 'waiting') return at.tools;
    if (tools.runtimes.length === 0 && tools.link.state === 'open') return at.runtime;
    if (this.session.live?.phase === 'running') return at.running;
    if (this.#base) return null;
    if (this.isInBackground) return at.background;
    const names = [...new Set(this.#waiting.map(({ name }) => name))];
    if (names.length > 0) return at.waiting(names.join(', '));
    return null;
  }

  /** Where the session was copied from; `null` if it is not a fork. */
  get forkedFrom(): Fork | null {
    const { agent, id } = this.session;
    const found = sessionList.sessions.find((one) => one.agentName === agent && one.sessionId === id);
    return (found?.metadata['forkedFrom'] as Fork | undefined) ?? null;
  }

  /** Whether a snapshot holds the copied turns of a fork. */
  isCopy(snapshot: SnapshotInfo | null): boolean {
    return this.forkedFrom !== null && snapshot !== null && snapshot === this.#infos[0];
  }

  /** The name of a turn in a sentence: "turn 2, branch B". */
  nameOf(row: Row | null): string {
    if (!row) return texts.inspector.first;
    if (this.isCopy(row.snapshot)) return texts.chat.copied.toLowerCase();
    const name = texts.chat.turn(row.turn).toLowerCase();
    return row.branch ? `${name}, ${texts.chat.branch(row.branch)}` : name;
  }

  /** The number of the turn of a snapshot. */
  turnOf(snapshotId: string | null): number {
    return this.#rows.find(({ snapshot }) => snapshot.snapshotId === snapshotId)?.turn ?? 0;
  }

  trace(snapshot: SnapshotInfo | null): ReturnType<typeof traceOf> {
    return snapshot ? traceOf(snapshot, this.session.traces) : null;
  }

  /** What a fork from a snapshot of this branch does not undo. */
  effects(snapshot: SnapshotInfo): Effects {
    const readers = readOnlyTools(catalog.actions);
    return effectsOf(this.session.messagesAt(this.#tip), snapshot.messageCount, (tool) => readers.has(tool));
  }

  choose(snapshotId: string): void {
    place.set({ at: snapshotId === this.session.details?.snapshotId ? '' : snapshotId });
  }

  /** Marks the chosen snapshot to compare others with, or removes the mark. */
  mark(snapshotId: string | null = this.#at): void {
    place.set({ with: snapshotId === null || snapshotId === this.marked ? '' : snapshotId });
  }

  readonly #infos = $derived.by(() => this.session.details?.snapshots ?? []);
  readonly #rows = $derived(rowsOf(this.#infos));
  readonly #at = $derived.by(() => {
    const wanted = place.query['at'];
    if (wanted && this.#infos.some(({ snapshotId }) => snapshotId === wanted)) return wanted;
    return this.session.details?.snapshotId ?? null;
  });
  readonly #tip = $derived.by(() => {
    const live = this.session.live;
    if (live && live.phase !== 'ended' && this.#infos.some(({ snapshotId }) => snapshotId === live.from)) return live.from;
    return tipOf(this.#infos, this.#at);
  });
  readonly #path = $derived(pathTo(this.#infos, this.#tip));
  readonly #chosenPath = $derived(pathTo(this.#infos, this.#at));
  readonly #turns = $derived.by(() => turnsOf(this.#path, this.session.messagesAt(this.#tip)));
  readonly #inputs = $derived.by(() => {
    const inputs = new Map<string, string>();
    for (const { snapshotId } of leaves(this.#infos)) {
      for (const turn of turnsOf(pathTo(this.#infos, snapshotId), this.session.messagesAt(snapshotId))) {
        if (turn.snapshot) inputs.set(turn.snapshot.snapshotId, inputOf(turn.messages));
      }
    }
    return inputs;
  });
  readonly #waiting = $derived.by(() => {
    const last = this.#path.at(-1);
    if (last?.finishReason !== 'interrupted' || last.status !== 'completed') return [];
    return waitingIn(this.session.messagesAt(this.#tip));
  });
}
