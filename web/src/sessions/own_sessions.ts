// Sessions of agents without a store: their clients keep the state, so this page does, for as long
// as its tab exists. They look like the sessions of a server.

import type { Session, SessionDetails, Snapshot, State, TurnResult } from './types';

interface OwnSession {
  agent: string;
  id: string;
  snapshots: Snapshot[];
}

const STORED = 'oxikit.sessions';
/** Maximum number of characters that are kept in the storage of the tab; beyond it the oldest are dropped. */
const MAX_STORED = 2_000_000;

let sessions: OwnSession[] | null = null;

export function ownSession(agent: string, id: string): SessionDetails | null {
  const found = read().find((session) => session.agent === agent && session.id === id);
  return found ? detailsOf(found) : null;
}

export function ownSessions(agent: string): Session[] {
  const mine = read().filter((session) => session.agent === agent);
  return mine.map(detailsOf).toSorted((a, b) => b.updatedAt - a.updatedAt);
}

export function ownSnapshot(agent: string, snapshotId: string): Snapshot | null {
  const all = read().filter((session) => session.agent === agent);
  return all.flatMap(({ snapshots }) => snapshots).find((one) => one.snapshotId === snapshotId) ?? null;
}

/** Keeps the result of a turn as a snapshot. */
export function keepTurn(agent: string, id: string, from: string | null, result: TurnResult): void {
  const hasFailed = result.finishReason === 'failed';
  const state: State = { sessionId: id, messages: result.messages ?? [], artifacts: result.artifacts ?? [] };
  if (result.state !== undefined) state.custom = result.state;
  addSnapshot(agent, id, {
    snapshotId: newId(),
    sessionId: id,
    ...(from !== null && { parentId: from }),
    createdAt: new Date().toISOString(),
    status: hasFailed ? 'failed' : 'completed',
    ...(result.finishReason && { finishReason: result.finishReason }),
    ...(result.error && { error: result.error }),
    state,
  });
}

/** Copies a snapshot to a new session. */
export function forkOwn(agent: string, snapshotId: string): { sessionId: string } {
  const snapshot = ownSnapshot(agent, snapshotId);
  const sessionId = newId();
  if (snapshot) {
    const { parentId: _, ...copied } = snapshot;
    addSnapshot(agent, sessionId, { ...copied, snapshotId: newId(), sessionId });
  }
  return { sessionId };
}

export function deleteOwn(agent: string, id: string): void {
  sessions = read().filter((session) => session.agent !== agent || session.id !== id);
  write();
}

/** A new id of a session or snapshot. */
export function newId(): string {
  // Browsers have `randomUUID` only where the origin is secure.
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function addSnapshot(agent: string, id: string, snapshot: Snapshot): void {
  const found = read().find((session) => session.agent === agent && session.id === id);
  if (found) found.snapshots.push(snapshot);
  else read().push({ agent, id, snapshots: [snapshot] });
  write();
}

function detailsOf({ agent, id, snapshots }: OwnSession): SessionDetails {
  const first = snapshots[0];
  const latest = snapshots.at(-1);
  const infos = snapshots.map((one) => ({
    snapshotId: one.snapshotId,
    parentId: one.parentId ?? null,
    status: one.status ?? null,
    finishReason: one.finishReason ?? null,
    createdAt: Date.parse(one.createdAt),
    messageCount: one.state?.messages?.length ?? 0,
    children: snapshots.filter(({ parentId }) => parentId === one.snapshotId).map(({ snapshotId }) => snapshotId),
  }));
  return {
    sessionId: id,
    agentName: agent,
    createdAt: Date.parse(first?.createdAt ?? ''),
    updatedAt: Date.parse(latest?.createdAt ?? ''),
    status: latest?.finishReason === 'interrupted' ? 'active' : 'completed',
    state: {},
    threads: {},
    metadata: { source: 'page' },
    snapshotId: latest?.snapshotId ?? '',
    snapshotStatus: latest?.status ?? null,
    finishReason: latest?.finishReason ?? null,
    snapshots: infos,
  };
}

function read(): OwnSession[] {
  if (sessions) return sessions;
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? '[]');
    sessions = Array.isArray(stored) ? (stored as OwnSession[]) : [];
  } catch {
    sessions = [];
  }
  return sessions;
}

function write(): void {
  const all = read();
  let kept = all;
  for (let text = JSON.stringify(kept); ; text = JSON.stringify(kept)) {
    if (text.length <= MAX_STORED || kept.length <= 1) {
      try {
        sessionStorage.setItem(STORED, text);
      } catch {
        // The storage of the tab is full: the sessions stay in memory.
      }
      return;
    }
    kept = kept.slice(1);
  }
}
