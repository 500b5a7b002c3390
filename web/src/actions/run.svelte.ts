// One run of an action: its stream as it comes, how it ended, and its stop.

import { ApiError } from '../api/http';
import { streamEvents } from '../api/events';
import { get, post } from '../api/tools';
import type { RunDone, RunError, RunTrace, WholeTrace } from '../api/tools_types';
import { parseJson } from '../form/json_text';
import { later } from '../ui/later';
import { failureOf, usageOf, type RunFailure, type Usage } from './results';
import { addChunk, type Streamed } from './stream_text';

export interface RunCall {
  key: string;
  /** `undefined` for none. */
  input: unknown;
  context?: Record<string, unknown> | undefined;
  labels?: Record<string, string> | undefined;
  /** Seconds. */
  timeout: number | null;
  runtime: string | null;
}

export type RunState = 'running' | 'done' | 'failed' | 'stopped';

/** Streams are shown at most this often, in milliseconds. */
const FRAME = 40;
const CLOCK = 100;
/** Time that a runtime has to end a run that was stopped, in milliseconds. */
const STOP_TIME = 4_000;
/** Pauses before the tokens of a trace are asked for: its spans come after the result. */
const USAGE_PAUSES = [150, 600, 1_500];
/** Maximum number of other chunks that are kept to be shown. */
const MAX_OTHERS = 500;

export class Run {
  readonly call: RunCall;
  readonly startedAt: number;
  #state = $state.raw<RunState>('running');
  #traceId = $state.raw<string | null>(null);
  #result = $state.raw<unknown>(undefined);
  #failure = $state.raw<RunFailure | null>(null);
  #usage = $state.raw<Usage | null>(null);
  #streamed = $state.raw<Streamed>({ text: '', reasoning: '', others: [] });
  #times = $state.raw<readonly number[]>([]);
  #milliseconds = $state(0);
  #isStopping = $state(false);
  #isTimeout = $state(false);
  /** What has come since the page was drawn. */
  readonly #coming: Streamed = { text: '', reasoning: '', others: [] };
  readonly #comingTimes: number[] = [];
  readonly #abort = new AbortController();
  readonly #began = performance.now();
  readonly #draw = later(FRAME, () => this.#show());

  private constructor(call: RunCall, startedAt: number) {
    this.call = call;
    this.startedAt = startedAt;
  }

  /** Starts a run. `ended` is called once, at its end. */
  static start(call: RunCall, ended: (run: Run) => void): Run {
    const run = new Run(call, Date.now());
    void run.#follow().then(() => ended(run));
    return run;
  }

  /** A run that has ended, from its trace. */
  static async ofTrace(key: string, traceId: string): Promise<Run> {
    const { trace, spans } = await get<WholeTrace>(`/traces/${encodeURIComponent(traceId)}`);
    const root = spans.find(({ spanId }) => spanId === trace.rootSpanId)?.span;
    const attribute = (name: string): unknown => valueOf(root?.attributes[name]);
    const call = { key, input: attribute('genkit:input'), timeout: null, runtime: null };
    const run = new Run(call, trace.startTime);
    run.#traceId = traceId;
    run.#milliseconds = trace.duration ?? 0;
    run.#result = attribute('genkit:output');
    const message = root?.status?.message ?? '';
    if (trace.status === 'error') run.#failure = failureOf(message.split(':')[0] ?? '', message, '');
    run.#state = trace.status === 'error' ? 'failed' : trace.status === 'running' ? 'stopped' : 'done';
    run.#usage = tokensOf(trace.usage);
    return run;
  }

  get state(): RunState {
    return this.#state;
  }

  get traceId(): string | null {
    return this.#traceId;
  }

  get result(): unknown {
    return this.#result;
  }

  get failure(): RunFailure | null {
    return this.#failure;
  }

  get usage(): Usage | null {
    return this.#usage;
  }

  get streamed(): Streamed {
    return this.#streamed;
  }

  /** When each chunk came, in milliseconds after the start. */
  get times(): readonly number[] {
    return this.#times;
  }

  get milliseconds(): number {
    return this.#milliseconds;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  get isTimeout(): boolean {
    return this.#isTimeout;
  }

  /** Asks the runtime to cancel the run. If it does not react, the page stops reading. */
  async stop(): Promise<void> {
    if (this.#state !== 'running' || this.#isStopping) return;
    this.#isStopping = true;
    const giveUp = setTimeout(() => this.#abort.abort(), STOP_TIME);
    this.#abort.signal.addEventListener('abort', () => clearTimeout(giveUp));
    if (this.#traceId === null) return this.#abort.abort();
    try {
      const { runtime } = this.call;
      await post(`/runs/${this.#traceId}/cancel`, {}, { runtime: runtime ?? undefined });
    } catch {
      // It has ended meanwhile, or the runtime is gone.
      this.#abort.abort();
    }
  }

  async #follow(): Promise<void> {
    const clock = setInterval(() => {
      if (this.#state === 'running') this.#milliseconds = performance.now() - this.#began;
    }, CLOCK);
    const timer = this.#startTimeout();
    try {
      await this.#stream();
      if (this.#state === 'running') this.#fail('UNAVAILABLE', 'The stream has ended without a result.', '');
    } catch (error) {
      this.#lost(error);
    }
    clearInterval(clock);
    clearTimeout(timer);
    this.#draw.cancel();
    this.#show();
    void this.#readUsage();
  }

  #startTimeout(): ReturnType<typeof setTimeout> | undefined {
    const { timeout } = this.call;
    if (timeout === null) return undefined;
    return setTimeout(() => {
      this.#isTimeout = true;
      void this.stop();
    }, timeout * 1000);
  }

  async #stream(): Promise<void> {
    const { key, input, context, labels, runtime } = this.call;
    const body = { key, input, context, telemetryLabels: labels, runtimeId: runtime ?? undefined };
    await streamEvents<unknown>('POST', '/api/v1/stream', { body, signal: this.#abort.signal }, (data, _, name) => {
      if (name === 'state') this.#traceId = (data as RunTrace).traceId;
      else if (name === 'chunk') this.#take(data);
      else if (name === 'done') this.#done(data as RunDone);
      else if (name === 'error') this.#failed(data as RunError);
    });
  }

  #take(chunk: unknown): void {
    addChunk(this.#coming, chunk);
    if (this.#coming.others.length > MAX_OTHERS) this.#coming.others.shift();
    this.#comingTimes.push(performance.now() - this.#began);
    this.#draw.soon();
  }

  #show(): void {
    if (this.#comingTimes.length === this.#times.length) return;
    this.#streamed = { ...this.#coming, others: [...this.#coming.others] };
    this.#times = [...this.#comingTimes];
  }

  #done({ result, telemetry }: RunDone): void {
    this.#traceId = telemetry?.traceId ?? this.#traceId;
    this.#result = result;
    this.#usage = usageOf(result);
    this.#end('done');
  }

  #failed({ status, message, details }: RunError): void {
    this.#traceId = details?.traceId ?? this.#traceId;
    if (this.#isStopping) this.#end('stopped');
    else this.#fail(status, message ?? '', details?.stack ?? '');
  }

  #fail(status: string, message: string, stack: string): void {
    this.#failure = failureOf(status, message, stack);
    this.#end(status === 'CANCELLED' ? 'stopped' : 'failed');
  }

  #end(state: RunState): void {
    this.#milliseconds = performance.now() - this.#began;
    this.#state = state;
  }

  #lost(error: unknown): void {
    if (this.#state !== 'running') return;
    if (this.#isStopping || this.#abort.signal.aborted) return this.#end('stopped');
    const body = error instanceof ApiError && typeof error.body === 'object' ? (error.body as { status?: unknown } | null) : null;
    const status = typeof body?.status === 'string' ? body.status : 'UNAVAILABLE';
    this.#fail(status, error instanceof Error ? error.message : String(error), '');
  }

  /** The tokens of all models below: a flow does not return them. */
  async #readUsage(): Promise<void> {
    if (this.#traceId === null) return;
    for (const pause of USAGE_PAUSES) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      try {
        const { trace } = await get<WholeTrace>(`/traces/${this.#traceId}`);
        const usage = tokensOf(trace.usage);
        if (usage) this.#usage = { ...usage, cost: usage.cost ?? this.#usage?.cost ?? null };
        if (trace.status !== 'running') return;
      } catch {
        // The trace is not stored yet, or not at all.
      }
    }
  }
}

/** No tokens at all are those of a run that asked no model. */
function tokensOf(usage: { inputTokens: number; outputTokens: number; cost?: number | null }): Usage | null {
  if (usage.inputTokens === 0 && usage.outputTokens === 0) return null;
  return { input: usage.inputTokens, output: usage.outputTokens, cost: usage.cost ?? null };
}

function valueOf(attribute: unknown): unknown {
  if (typeof attribute !== 'string') return attribute;
  const parsed = parseJson(attribute);
  return parsed.ok ? parsed.value : attribute;
}
