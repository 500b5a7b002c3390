// Turns that this page runs. They go on while another view is shown, and a view that comes back
// finds them here. A turn ends when the page is closed, unless it was sent to the background.

import { ApiError } from '../api/http';
import { tools } from '../state/tools.svelte';
import { streamTurn, type TurnStart } from './api';
import { NOTHING, taken, type LiveState } from './live';
import type { TurnInput } from './types';

export type Phase = 'running' | 'ended' | 'failed' | 'stopped';

/** Shortest time between two paints of a stream, in milliseconds. */
const PAINT = 33;

export class LiveTurn {
  readonly agent: string;
  readonly sessionId: string;
  /** The snapshot that it continues from; `null` for a new session. */
  readonly from: string | null;
  readonly input: TurnInput;
  readonly startedAt = Date.now();
  /** Arrival of the chunks, in milliseconds after the start. */
  readonly ticks: number[] = $state([]);
  #state = $state.raw<LiveState>(NOTHING);
  #phase = $state<Phase>('running');
  #duration = $state(0);
  #traceId = $state<string | null>(null);
  readonly #stop = new AbortController();
  #pending: LiveState = NOTHING;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(agent: string, sessionId: string, from: string | null, input: TurnInput) {
    this.agent = agent;
    this.sessionId = sessionId;
    this.from = from;
    this.input = input;
  }

  get state(): LiveState {
    return this.#state;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Milliseconds from the start to the end; 0 while it runs. */
  get duration(): number {
    return this.#duration;
  }

  get traceId(): string | null {
    return this.#state.traceId ?? this.#traceId;
  }

  async run(init: TurnStart): Promise<void> {
    const call = { runtime: tools.chosenRuntime ?? undefined, signal: this.#stop.signal };
    try {
      await streamTurn(
        this.agent,
        { input: this.input, init },
        call,
        (name, data) => this.#take(name, data),
        (traceId) => (this.#traceId = traceId),
      );
      if (!this.#pending.result && !this.#pending.failure) throw new ApiError('The stream of the turn ended early.', 0);
      this.#end(this.#pending.failure ? 'failed' : 'ended');
    } catch (error) {
      if (this.#stop.signal.aborted) {
        this.#end('stopped');
        return;
      }
      const message = error instanceof Error ? error.message : String(error);
      this.#pending = { ...this.#pending, failure: { message } };
      this.#end('failed');
    }
  }

  /** Stops the turn: the server cancels a turn whose reader has left. */
  stop(): void {
    this.#stop.abort();
  }

  #take(name: string, data: unknown): void {
    this.#pending = taken(this.#pending, name, data);
    if (name === 'chunk' && this.ticks.length < 2_000) this.ticks.push(Date.now() - this.startedAt);
    this.#timer ??= setTimeout(() => this.#paint(), PAINT);
  }

  #paint(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#state = this.#pending;
  }

  #end(phase: Phase): void {
    this.#paint();
    this.#duration = Date.now() - this.startedAt;
    this.#phase = phase;
  }
}

class LiveTurns {
  #turns = $state.raw<readonly LiveTurn[]>([]);

  /** The turn of a session that this page runs, or ran last. */
  of(agent: string, sessionId: string): LiveTurn | null {
    return this.#turns.find((turn) => turn.agent === agent && turn.sessionId === sessionId) ?? null;
  }

  get all(): readonly LiveTurn[] {
    return this.#turns;
  }

  /** Starts a turn. It replaces the last one of its session. */
  start(turn: LiveTurn, init: TurnStart): Promise<void> {
    this.#turns = [turn, ...this.#turns.filter((other) => !isSame(other, turn))];
    return turn.run(init);
  }

  forget(turn: LiveTurn): void {
    this.#turns = this.#turns.filter((other) => other !== turn);
  }
}

function isSame(a: LiveTurn, b: LiveTurn): boolean {
  return a.agent === b.agent && a.sessionId === b.sessionId;
}

export const liveTurns = new LiveTurns();
