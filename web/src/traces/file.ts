// Files that `export` has written: a trace, or the traces of a session. They are read without a server.

import type { TraceData, WholeTrace } from '../api/tools_types';
import { wholeTrace } from './spans';

/** Bytes of the largest file that is read. */
export const MAX_FILE = 256 * 1024 * 1024;

/** The traces of a file. An error says why it is none. */
export function readTraces(text: string): WholeTrace[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('The file is not valid JSON. Choose a file that “Share file” or the export of a session has written.');
  }
  const list = listOf(value);
  const traces = list.filter(isTrace).map(wholeTrace);
  if (traces.length === 0) {
    throw new Error('The file has no traces. Choose a file that “Share file” or the export of a session has written.');
  }
  return traces;
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  const traces = (value as { traces?: unknown } | null)?.traces;
  return Array.isArray(traces) ? traces : [value];
}

function isTrace(value: unknown): value is TraceData {
  if (typeof value !== 'object' || value === null) return false;
  const { traceId, spans } = value as Partial<TraceData>;
  if (typeof traceId !== 'string' || typeof spans !== 'object' || spans === null) return false;
  return Object.values(spans).every(
    (span) =>
      typeof span?.spanId === 'string' && typeof span.startTime === 'number' && typeof span.attributes === 'object' && span.attributes !== null,
  );
}
