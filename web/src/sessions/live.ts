// A turn while it runs: its events become messages, a state and artifacts.

import type { TurnEventData } from '../api/tools_types';
import type { Artifact, Message, Part, TurnFailure, TurnResult } from './types';

export interface LiveState {
  /** The messages that have arrived, after the input. */
  messages: readonly LiveMessage[];
  /** The custom state, if it has changed. */
  custom?: unknown;
  artifacts: readonly Artifact[];
  /** The snapshot of the turn, when it has one. */
  snapshotId: string | null;
  traceId: string | null;
  result: TurnResult | null;
  failure: TurnFailure | null;
}

interface LiveMessage extends Message {
  /** The position in the turn; chunks with the same one are the same message. */
  index: number | null;
}

export const NOTHING: LiveState = {
  messages: [],
  artifacts: [],
  snapshotId: null,
  traceId: null,
  result: null,
  failure: null,
};

/** The state after an event. Unknown events change nothing. */
export function taken(state: LiveState, name: string, data: unknown): LiveState {
  switch (name) {
    case 'chunk':
      return { ...state, messages: withChunk(state.messages, (data as { chunk: LiveChunk }).chunk) };
    case 'stateUpdate':
      return { ...state, custom: (data as TurnEventData['stateUpdate']).stateUpdate };
    case 'artifact':
      return { ...state, artifacts: withArtifact(state.artifacts, (data as { artifact: Artifact }).artifact) };
    case 'turnEnd':
      return { ...state, snapshotId: (data as TurnEventData['turnEnd']).turnEnd.snapshotId ?? state.snapshotId };
    case 'done': {
      const result = data as TurnResult;
      return { ...state, result, failure: result.error ?? null };
    }
    case 'error':
      return { ...state, failure: (data as { error: TurnFailure }).error };
    case 'telemetry':
      return { ...state, traceId: (data as TurnEventData['telemetry']).traceId || state.traceId };
    default:
      return state;
  }
}

interface LiveChunk {
  role?: Message['role'] | null;
  index?: number | null;
  content: Part[];
  aggregated?: boolean | null;
}

function withChunk(messages: readonly LiveMessage[], chunk: LiveChunk): LiveMessage[] {
  const { role = 'model', index = null, content, aggregated } = chunk;
  const last = messages.at(-1);
  const isSame = last !== undefined && last.role === (role ?? 'model') && last.index === index;
  if (!isSame) return [...messages, { role: role ?? 'model', index, content }];
  const whole = aggregated ? content : joined(last.content, content);
  return [...messages.slice(0, -1), { ...last, content: whole }];
}

/** Adds parts. A text after a text is one text, so that a long stream has few parts. */
function joined(before: readonly Part[], after: readonly Part[]): Part[] {
  const parts = [...before];
  for (const part of after) {
    const last = parts.at(-1);
    const isText = typeof part.text === 'string' && typeof last?.text === 'string' && !last.metadata && !part.metadata;
    if (isText) parts[parts.length - 1] = { text: `${last.text}${part.text}` };
    else parts.push(part);
  }
  return parts;
}

/** A later artifact of the same name replaces the earlier one. */
function withArtifact(artifacts: readonly Artifact[], artifact: Artifact): Artifact[] {
  const at = artifact.name ? artifacts.findIndex(({ name }) => name === artifact.name) : -1;
  return at < 0 ? [...artifacts, artifact] : artifacts.with(at, artifact);
}
