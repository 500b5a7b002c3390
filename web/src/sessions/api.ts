// Calls about agents and their sessions.

import { streamEvents } from '../api/events';
import { request } from '../api/http';
import { get } from '../api/tools';
import type { ActionDescriptor, AgentList, SessionExport, SessionForked, TraceInfo, TraceList } from '../api/tools_types';
import type { AgentSummary, Session, SessionDetails, Snapshot, TurnInput } from './types';

export interface SessionPage {
  sessions: Session[];
  continuationToken?: string | null;
  /** `traces` if the runtime does not list its sessions. */
  source?: string;
}

export interface TurnStart {
  sessionId?: string;
  snapshotId?: string;
  /** The whole state, for agents whose clients keep it. */
  state?: unknown;
}

/** Sessions of one page; the maximum of the server is 200. */
const PAGE = 100;
/** Maximum number of traces of a session whose times and tokens are shown. */
const MAX_TRACES = 200;

const path = (agent: string, ...rest: string[]): string =>
  ['/api/agents', agent, ...rest].map((part, at) => (at === 0 ? part : encodeURIComponent(part))).join('/');

export async function listAgents(runtime: string | undefined): Promise<AgentSummary[]> {
  const { agents } = await request<AgentList>('GET', '/api/agents', { query: { runtime } });
  return Object.values(agents).toSorted((a, b) => a.name.localeCompare(b.name));
}

export function listSessions(agent: string, runtime: string | undefined, after?: string): Promise<SessionPage> {
  const query = { limit: PAGE, continuationToken: after, runtime };
  return request<SessionPage>('GET', path(agent, 'sessions'), { query });
}

export function getSession(agent: string, id: string, runtime: string | undefined): Promise<SessionDetails> {
  return request<SessionDetails>('GET', path(agent, 'sessions', id), { query: { runtime } });
}

export function getSnapshot(agent: string, snapshotId: string, runtime: string | undefined): Promise<Snapshot> {
  return request<Snapshot>('GET', path(agent, 'snapshot'), { query: { snapshotId, runtime } });
}

/** Executes a turn; each event is told with its name. A reader that leaves cancels the turn. */
export function streamTurn(
  agent: string,
  body: { input: TurnInput; init: TurnStart },
  call: { runtime: string | undefined; signal: AbortSignal },
  listener: (name: string, data: unknown) => void,
  opened: (traceId: string | null) => void,
): Promise<void> {
  const { runtime, signal } = call;
  return streamEvents<unknown>(
    'POST',
    path(agent, 'execute'),
    { body: { ...body, stream: true }, query: { runtime }, signal },
    (data, _, name) => listener(name, data),
    (response) => opened(response.headers.get('x-genkit-trace-id')),
  );
}

export function forkSession(agent: string, id: string, snapshotId: string, runtime: string | undefined): Promise<SessionForked> {
  return request<SessionForked>('POST', path(agent, 'sessions', id, 'fork'), { body: { snapshotId }, query: { runtime } });
}

export function abortSession(agent: string, id: string, runtime: string | undefined): Promise<unknown> {
  return request('POST', path(agent, 'sessions', id, 'abort'), { body: {}, query: { runtime } });
}

export function deleteSession(agent: string, id: string, runtime: string | undefined): Promise<unknown> {
  return request('DELETE', path(agent, 'sessions', id), { body: {}, query: { runtime } });
}

/** The traces of a session, newest first. */
export async function tracesOf(session: string): Promise<TraceInfo[]> {
  return (await get<TraceList>('/traces', { session, limit: MAX_TRACES })).traces;
}

/** Traces of a session, without values that look like secrets. */
export function exportTraces(session: string): Promise<SessionExport> {
  return get<SessionExport>('/traces/export', { session });
}

/** Ids of sessions with a trace that contains these words. */
export async function sessionsWithText(text: string): Promise<Set<string>> {
  const words = text.split(/\s+/).filter(Boolean).map((word) => `${word}*`);
  const { traces } = await get<TraceList>('/traces', { text: words.join(' '), type: 'agent', limit: MAX_TRACES });
  return new Set(traces.flatMap(({ sessionId }) => sessionId ?? []));
}

/** A tool of the runtime; `null` if it has none of this name. */
export async function getTool(name: string, runtime: string | undefined): Promise<ActionDescriptor | null> {
  const key = ['tool', ...name.split('/')].map(encodeURIComponent).join('/');
  return get<ActionDescriptor>(`/actions/${key}`, { runtime }).catch(() => null);
}
