// The list of sessions: their status, filters, and how news come into a list that somebody reads.

import type { TraceInfo } from '../api/tools_types';
import type { Session, SnapshotInfo } from './types';

export type SessionStatus = 'waits' | 'running' | 'failed' | 'stopped' | 'expired' | 'ended';
export const SESSION_STATUSES: readonly SessionStatus[] = ['waits', 'running', 'failed', 'stopped', 'expired', 'ended'];

interface WithStatus {
  finishReason?: SnapshotInfo['finishReason'];
  snapshotStatus?: SnapshotInfo['status'];
  status?: string | null;
  children?: readonly string[];
}

/** What a session or a snapshot does. A tool with a turn after it does not wait any more. */
export function statusOf(one: WithStatus): SessionStatus {
  const status = one.snapshotStatus ?? one.status;
  if (status === 'pending') return 'running';
  if (status === 'failed') return 'failed';
  if (status === 'aborted') return 'stopped';
  if (status === 'expired') return 'expired';
  if (one.finishReason === 'interrupted') return one.children?.length ? 'ended' : 'waits';
  return status === 'active' ? 'running' : 'ended';
}

export const keyOf = (session: Pick<Session, 'agentName' | 'sessionId'>): string =>
  `${session.agentName}/${session.sessionId}`;

export interface Filter {
  text: string;
  agent: string;
  status: string;
}

/** The sessions of a filter. `titles` are the known texts; `found` has ids that the server found. */
export function filtered(
  sessions: readonly Session[],
  { text, agent, status }: Filter,
  titles: ReadonlyMap<string, string>,
  found: ReadonlySet<string>,
): Session[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return sessions.filter((session) => {
    if (agent && session.agentName !== agent) return false;
    if (status && statusOf(session) !== status) return false;
    if (words.length === 0 || found.has(session.sessionId)) return true;
    const whole = `${session.sessionId} ${session.agentName} ${titles.get(keyOf(session)) ?? ''}`.toLowerCase();
    return words.every((word) => whole.includes(word));
  });
}

export interface Merged {
  sessions: Session[];
  /** Sessions that are held back because somebody reads the list. */
  held: number;
}

/**
 * Takes news into a list. Known rows change in place and keep their order; new ones are inserted
 * only if `isOpen`, else they are counted. Rows that are gone are removed.
 */
export function merged(shown: readonly Session[], fresh: readonly Session[], isOpen: boolean): Merged {
  if (isOpen || shown.length === 0) return { sessions: [...fresh], held: 0 };
  const byKey = new Map(fresh.map((session) => [keyOf(session), session]));
  const known = new Set(shown.map(keyOf));
  const sessions = shown.flatMap((session) => byKey.get(keyOf(session)) ?? []);
  return { sessions, held: fresh.filter((session) => !known.has(keyOf(session))).length };
}

/** The trace in whose time a snapshot was written. */
export function traceOf(snapshot: SnapshotInfo, traces: readonly TraceInfo[]): TraceInfo | null {
  const at = snapshot.createdAt;
  const holds = ({ startTime, endTime }: TraceInfo): boolean =>
    Math.floor(startTime) <= at && at <= Math.ceil(endTime ?? Number.MAX_SAFE_INTEGER);
  // Newest first: a running one of a later turn began after this snapshot was written.
  return traces.find(holds) ?? null;
}
