// One trace on screen. While it runs, its spans are taken in as they come, at most four times a second.

import { ApiError } from '../api/http';
import type { LogRecord, SpanData, SpanInfo, TraceInfo, WholeTrace } from '../api/tools_types';
import { readTrace, traceLogs, watchTrace } from './api';
import { isError, isRunning, summed, usageOf } from './spans';
import { treeOf, type Tree } from './tree';

const PAUSE = 250;

export class OpenTrace {
  readonly id: string;
  info = $state.raw<TraceInfo | null>(null);
  tree = $state.raw<Tree | null>(null);
  logs = $state.raw<readonly LogRecord[]>([]);
  logsError = $state.raw<unknown>(null);
  error = $state.raw<unknown>(null);
  readonly isFile: boolean;
  readonly #reader = new AbortController();
  readonly #spans = new Map<string, SpanInfo>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(id: string, file: WholeTrace | null = null) {
    this.id = id;
    this.isFile = file !== null;
    if (file) this.#show(file);
  }

  get isMissing(): boolean {
    return this.error instanceof ApiError && this.error.status === 404;
  }

  get isRunning(): boolean {
    return this.info?.status === 'running';
  }

  /** Reads the trace, and follows it while it runs. */
  async open(): Promise<void> {
    if (this.isFile) return;
    const { signal } = this.#reader;
    try {
      const whole = await readTrace(this.id, signal);
      this.error = null;
      this.#show(whole);
      void this.#readLogs();
      if (whole.trace.status !== 'running') return;
      await watchTrace(this.id, signal, (spans) => this.#take(spans));
      const ended = await readTrace(this.id, signal);
      clearTimeout(this.#timer);
      this.#show(ended);
      void this.#readLogs();
    } catch (error) {
      if (!signal.aborted) this.error = error;
    }
  }

  close(): void {
    this.#reader.abort();
    clearTimeout(this.#timer);
  }

  #show(whole: WholeTrace): void {
    this.#spans.clear();
    for (const info of whole.spans) this.#spans.set(info.spanId, info);
    this.info = whole.trace;
    this.tree = treeOf(whole.spans);
  }

  #take(spans: readonly SpanData[]): void {
    for (const span of spans) {
      const usage = usageOf(span);
      this.#spans.set(span.spanId, { spanId: span.spanId, span, ...(usage && { usage }) });
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#update();
    }, PAUSE);
  }

  #update(): void {
    const all = [...this.#spans.values()];
    this.tree = treeOf(all);
    const info = this.info;
    const root = this.#spans.get(info?.rootSpanId ?? '')?.span;
    if (!info) return;
    const status = root && !isRunning(root) ? (isError(root) ? 'error' : 'success') : 'running';
    const duration = root && !isRunning(root) ? root.endTime - root.startTime : null;
    this.info = { ...info, status, duration, spans: all.length, usage: summed(all.map(({ usage }) => usage)) };
  }

  async #readLogs(): Promise<void> {
    const { signal } = this.#reader;
    try {
      this.logs = await traceLogs(this.id, signal);
      this.logsError = null;
    } catch (error) {
      if (!signal.aborted) this.logsError = error;
    }
  }
}
