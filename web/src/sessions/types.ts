// Shapes of agents and sessions, as far as this area reads them. The values of tools and states are
// of any form, which the generated types do not say.

import type { AgentSummary, ObservedSession, SessionDetails, SessionInfo, SnapshotInfo } from '../api/tools_types';

export type { AgentSummary, SessionDetails, SnapshotInfo };

export interface Part {
  text?: string | null;
  reasoning?: string | null;
  media?: { url: string; contentType?: string | null } | null;
  toolRequest?: { name: string; ref?: string | null; input?: unknown; partial?: boolean | null } | null;
  toolResponse?: { name: string; ref?: string | null; output?: unknown } | null;
  data?: unknown;
  custom?: unknown;
  resource?: { uri: string } | null;
  metadata?: Record<string, unknown> | null;
}

export interface Message {
  role: 'system' | 'user' | 'model' | 'tool';
  content: Part[];
  metadata?: Record<string, unknown> | null;
}

export interface Artifact {
  name?: string | null;
  parts: Part[];
  metadata?: Record<string, unknown> | null;
}

/** The state of a session at the end of a turn. */
export interface State {
  sessionId?: string | null;
  messages?: Message[] | null;
  custom?: unknown;
  artifacts?: Artifact[] | null;
}

export interface TurnFailure {
  status?: string | null;
  message: string;
  details?: unknown;
}

export interface Snapshot {
  snapshotId: string;
  sessionId?: string | null;
  parentId?: string | null;
  createdAt: string;
  status?: SnapshotInfo['status'];
  finishReason?: SnapshotInfo['finishReason'];
  error?: TurnFailure | null;
  state?: State | null;
}

/** A row of the list. Runtimes that do not list their sessions have fewer members. */
export type Session = Pick<SessionInfo, 'sessionId' | 'agentName' | 'createdAt' | 'updatedAt' | 'status' | 'metadata'> &
  Partial<Pick<SessionInfo, 'messageCount' | 'hasArtifacts' | 'snapshotStatus' | 'finishReason'>> &
  Partial<Pick<ObservedSession, 'turns'>>;

/** What one turn gets. */
export interface TurnInput {
  message?: Message;
  resume?: { respond?: Part[]; restart?: Part[] };
  detach?: boolean;
}

/** The result of a turn. */
export interface TurnResult {
  sessionId?: string | null;
  messages?: Message[] | null;
  state?: unknown;
  artifacts?: Artifact[] | null;
  snapshotId?: string | null;
  finishReason?: SnapshotInfo['finishReason'];
  message?: Message | null;
  error?: TurnFailure | null;
}
