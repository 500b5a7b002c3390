// What the overview shows of traces: running ones, those that failed lately, and figures.

import { get } from '../api/tools';
import type { SpanData, TraceInfo, TraceList, WholeTrace } from '../api/tools_types';
import { clock } from '../state/clock.svelte';
import { tools } from '../state/tools.svelte';
import { later } from '../ui/later';
import { figuresOf, RANGES, startOf, type Range } from './figures';

export interface Failure {
  trace: TraceInfo;
  /** The action that failed; `null` if the trace does not name one. */
  key: string | null;
  /** The input as JSON text. */
  input: string | undefined;
  message: string;
}

const HOUR = 3_600_000;
const MAX_RUNNING = 20;
const MAX_FAILED = 5;
/** Traces of one page, and pages that are read for the figures. */
const PAGE = 1_000;
const MAX_PAGES = 5;
/** Pause in milliseconds after a change before the lists are read again. */
const PAUSE = 400;

export class OverviewData {
  #running = $state.raw<readonly TraceInfo[]>([]);
  #failures = $state.raw<readonly Failure[]>([]);
  #hasMoreFailures = $state(false);
  #counted = $state.raw<readonly TraceInfo[]>([]);
  #isCapped = $state(false);
  #isReady = $state(false);
  #range = $state.raw<Range>(RANGES[0] as Range);
  readonly #known = new Map<string, Failure>();
  #readings = 0;

  get running(): readonly TraceInfo[] {
    return this.#running;
  }

  get failures(): readonly Failure[] {
    return this.#failures;
  }

  /** Whether more traces failed in the last hour than are shown. */
  get hasMoreFailures(): boolean {
    return this.#hasMoreFailures;
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get range(): Range {
    return this.#range;
  }

  set range(range: Range) {
    this.#range = range;
  }

  /** Whether there are more traces in the range than were read. */
  get isCapped(): boolean {
    return this.#isCapped;
  }

  /** The number of traces that were read. */
  get countedTraces(): number {
    return this.#counted.length;
  }

  readonly figures = $derived(figuresOf(this.#counted, this.#range, clock.now));

  /** Reads everything now and after changes. Call it in an effect; the result ends that. */
  follow(): () => void {
    void tools.connections;
    const range = this.#range;
    const read = later(PAUSE, () => void this.#read(range));
    void this.#read(range);
    const ends = [tools.on('traces', read.soon), read.cancel];
    return () => {
      this.#readings += 1;
      ends.forEach((end) => end());
    };
  }

  async #read(range: Range): Promise<void> {
    this.#readings += 1;
    const reading = this.#readings;
    const now = Date.now();
    try {
      const [running, failed, counted] = await Promise.all([
        get<TraceList>('/traces', { status: 'running', limit: MAX_RUNNING }),
        get<TraceList>('/traces', { status: 'error', from: now - HOUR, limit: MAX_FAILED }),
        readAll(startOf(range, now)),
      ]);
      const failures = await Promise.all(failed.traces.map((trace) => this.#failure(trace)));
      if (reading !== this.#readings) return;
      this.#running = running.traces;
      // A run that somebody stopped has not failed.
      this.#failures = failures.filter(({ message }) => !message.startsWith('CANCELLED'));
      this.#hasMoreFailures = Boolean(failed.continuationToken);
      this.#counted = counted.traces;
      this.#isCapped = counted.isCapped;
      this.#isReady = true;
    } catch {
      // The bar of the connection says that the tools do not answer; what is shown stays.
    }
  }

  async #failure(trace: TraceInfo): Promise<Failure> {
    const known = this.#known.get(trace.traceId);
    if (known) return known;
    const whole = await get<WholeTrace>(`/traces/${trace.traceId}`);
    const root = whole.spans.find(({ spanId }) => spanId === trace.rootSpanId)?.span;
    const failure = { trace, ...failureOf(root) };
    this.#known.set(trace.traceId, failure);
    return failure;
  }
}

/** The key, the input and the error of a root span. */
export function failureOf(root: SpanData | undefined): Omit<Failure, 'trace'> {
  const attributes = root?.attributes ?? {};
  const text = (name: string): string | undefined => {
    const value = attributes[name];
    return typeof value === 'string' ? value : undefined;
  };
  const event = root?.timeEvents?.timeEvent?.find(({ annotation }) => annotation.description === 'exception');
  const type = event?.annotation.attributes['exception.type'];
  const message = root?.status?.message ?? String(event?.annotation.attributes['exception.message'] ?? '');
  const prefix = typeof type === 'string' && /^[A-Z_]+$/.test(type) ? `${type}: ` : '';
  return { key: text('genkit:key') ?? null, input: text('genkit:input'), message: `${prefix}${message}` };
}

async function readAll(from: number): Promise<{ traces: TraceInfo[]; isCapped: boolean }> {
  const traces: TraceInfo[] = [];
  let token: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const list = await get<TraceList>('/traces', { from, limit: PAGE, continuationToken: token });
    traces.push(...list.traces);
    token = list.continuationToken ?? undefined;
    if (token === undefined) return { traces, isCapped: false };
  }
  return { traces, isCapped: true };
}
