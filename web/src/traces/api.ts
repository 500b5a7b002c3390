// Calls about traces.

import { streamEvents } from '../api/events';
import { respond } from '../api/http';
import { get, remove } from '../api/tools';
import type { LogList, LogRecord, SpanData, TraceList, TraceNews, WholeTrace } from '../api/tools_types';

/** A page of traces. Parameters may be repeated. */
export function listTraces(
  parameters: readonly (readonly [string, string])[],
  limit: number,
  token: string | null,
  signal?: AbortSignal,
): Promise<TraceList> {
  const search = new URLSearchParams(parameters.map(([name, value]) => [name, value]));
  search.set('limit', String(limit));
  if (token !== null) search.set('continuationToken', token);
  return get<TraceList>(`/traces?${search.toString()}`, {}, signal);
}

export function readTrace(id: string, signal?: AbortSignal): Promise<WholeTrace> {
  return get<WholeTrace>(`/traces/${encodeURIComponent(id)}`, {}, signal);
}

/** Calls the function for each span of a trace as it starts and ends, until its root has ended. */
export async function watchTrace(id: string, signal: AbortSignal, take: (spans: SpanData[]) => void): Promise<void> {
  const path = `/api/v1/traces/${encodeURIComponent(id)}/events`;
  await streamEvents<TraceNews>('GET', path, { signal }, (news) => {
    if (news.type === 'trace') take(Object.values(news.trace.spans));
    else if (news.type === 'span_start' || news.type === 'span_end') take([news.span]);
  });
}

/** Log lines of a trace, oldest first. At most 1000 are read. */
export async function traceLogs(id: string, signal: AbortSignal): Promise<LogRecord[]> {
  const list = await get<LogList>('/logs', { traceId: id, limit: 1000 }, signal);
  return list.logs.toReversed();
}

/** The trace as a file, without its secrets. */
export async function exportTrace(id: string): Promise<string> {
  const response = await respond('GET', `/api/v1/traces/${encodeURIComponent(id)}/export`);
  return response.text();
}

export function removeTrace(id: string): Promise<unknown> {
  return remove(`/traces/${encodeURIComponent(id)}`);
}

export function removeAllTraces(): Promise<unknown> {
  return remove('/traces');
}
