// A task as its updates come: its states, messages and artifacts.

import type { Part } from '../ui/conversation_parts';
import type { A2aArtifact, A2aMessage, A2aPart, Task, TaskStatus, Update } from './types';

/** What is known of one answer of an agent. */
export interface Followed {
  task: Task | null;
  /** The states that were told, in their order. */
  states: readonly TaskStatus[];
  /** Answers without a task. */
  messages: readonly A2aMessage[];
  contextId: string | null;
}

export const NOTHING: Followed = { task: null, states: [], messages: [], contextId: null };

export function followed(before: Followed, update: Update): Followed {
  if (update.task) {
    const { task } = update;
    return { ...before, task, states: withState(before.states, task.status), contextId: task.contextId ?? before.contextId };
  }
  if (update.message) {
    const { message } = update;
    return { ...before, messages: [...before.messages, message], contextId: message.contextId ?? before.contextId };
  }
  if (update.statusUpdate) {
    const { taskId = '', contextId, status } = update.statusUpdate;
    const task = { ...(before.task ?? { id: taskId }), ...(status && { status }), ...(contextId && { contextId }) };
    return { ...before, task, states: withState(before.states, status), contextId: contextId ?? before.contextId };
  }
  if (update.artifactUpdate?.artifact) {
    const { taskId = '', artifact, append } = update.artifactUpdate;
    const task = before.task ?? { id: taskId };
    return { ...before, task: { ...task, artifacts: withArtifact(task.artifacts ?? [], artifact, append === true) } };
  }
  return before;
}

function withState(states: readonly TaskStatus[], status: TaskStatus | undefined): readonly TaskStatus[] {
  if (!status?.state) return states;
  const last = states.at(-1);
  const isSame = last?.state === status.state && JSON.stringify(last.message) === JSON.stringify(status.message);
  return isSame ? states : [...states, status];
}

/** Adds the parts to the artifact with the same id, or replaces it. */
function withArtifact(artifacts: readonly A2aArtifact[], artifact: A2aArtifact, isAppended: boolean): A2aArtifact[] {
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = artifacts[at];
  if (!known) return [...artifacts, artifact];
  const parts = isAppended ? [...(known.parts ?? []), ...(artifact.parts ?? [])] : (artifact.parts ?? []);
  return artifacts.with(at, { ...known, ...artifact, parts });
}

export type StateTone = 'ok' | 'err' | 'run' | 'wait' | 'off';

/** `TASK_STATE_INPUT_REQUIRED` is "input required". */
export function stateName(state: string | undefined): string {
  return (state ?? 'unknown').replace(/^TASK_STATE_/, '').replaceAll(/[_-]/g, ' ').toLowerCase();
}

export function stateTone(state: string | undefined): StateTone {
  switch (stateName(state)) {
    case 'completed':
      return 'ok';
    case 'failed':
    case 'rejected':
      return 'err';
    case 'submitted':
    case 'working':
      return 'run';
    case 'input required':
    case 'auth required':
      return 'wait';
    default:
      return 'off';
  }
}

/** Whether the agent still works on a task, or waits for somebody. */
export function isOver(state: string | undefined): boolean {
  return ['completed', 'failed', 'rejected', 'canceled', 'cancelled'].includes(stateName(state));
}

/** Parts as the viewers of the page show them. Texts that follow each other are one text. */
export function shownParts(parts: readonly A2aPart[] | undefined): Part[] {
  const shown: Part[] = [];
  for (const part of parts ?? []) {
    const one = shownPart(part);
    const last = shown.at(-1);
    if (one.text !== undefined && last?.text !== undefined) shown[shown.length - 1] = { text: last.text + one.text };
    else shown.push(one);
  }
  return shown;
}

function shownPart(part: A2aPart): Part {
  const contentType = part.mediaType ?? 'application/octet-stream';
  if (typeof part.text === 'string') return { text: part.text };
  if (typeof part.raw === 'string') return { media: { url: `data:${contentType};base64,${part.raw}`, contentType } };
  if (typeof part.url === 'string') return { media: { url: part.url, contentType } };
  return { data: part.data ?? part };
}

/** The text of a message. */
export function textOf(message: A2aMessage | undefined): string {
  return (message?.parts ?? []).map(({ text }) => text ?? '').join('');
}
