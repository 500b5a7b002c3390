// The conversation of a session, cut into turns, and each turn into what is shown.

import type { Message, Part, SnapshotInfo } from './types';

export interface Turn {
  /** From 1. */
  number: number;
  /** The snapshot at its end; `null` for a turn that is not stored (yet). */
  snapshot: SnapshotInfo | null;
  /** The snapshot that it continued from. */
  parentId: string | null;
  messages: readonly Message[];
}

/** What is shown of a turn, in its order. */
export type Item =
  | { kind: 'user'; parts: readonly Part[] }
  | { kind: 'system'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | { kind: 'call'; call: Call }
  | { kind: 'media'; url: string; contentType: string }
  | { kind: 'value'; value: unknown };

/** A request of the model for a tool, with the response. */
export interface Call {
  name: string;
  ref: string | null;
  input: unknown;
  hasOutput: boolean;
  output?: unknown;
  /** Whether a person or a program has answered for the tool, or let it run. */
  isResumed: boolean;
  /** Whether the tool waited in this turn, and a later turn has answered it. */
  isAnsweredLater?: boolean;
  /** What the tool asks before it goes on; `undefined` if it does not wait. */
  interrupt?: unknown;
}

/**
 * Cuts the messages at the ends of the turns. `path` are the snapshots from the first to the one
 * with these messages. Agents that shorten their history have fewer messages than before: then the
 * cuts are unknown, and all messages belong to the last turn.
 */
export function turnsOf(path: readonly SnapshotInfo[], messages: readonly Message[]): Turn[] {
  const counts: number[] = [];
  for (const { messageCount, status } of path) {
    // The messages of a running turn are stored at its end.
    counts.push(status === 'pending' ? Math.max(messageCount, counts.at(-1) ?? 0) : messageCount);
  }
  const isGrowing = counts.every((count, at) => count >= (counts[at - 1] ?? 0));
  const isCut = isGrowing && (counts.at(-1) ?? 0) <= messages.length;
  return path.map((snapshot, at) => {
    const from = isCut ? (counts[at - 1] ?? 0) : at === path.length - 1 ? 0 : messages.length;
    const to = isCut && at < path.length - 1 ? counts[at] : messages.length;
    const parentId = path[at - 1]?.snapshotId ?? null;
    return { number: at + 1, snapshot, parentId, messages: messages.slice(from, to) };
  });
}

/** What is shown of the messages of a turn. Responses of tools are shown with their requests. */
export function itemsOf(messages: readonly Message[]): Item[] {
  const items: Item[] = [];
  const calls: Call[] = [];
  for (const message of messages) {
    if (message.role === 'user') {
      items.push({ kind: 'user', parts: message.content });
      continue;
    }
    for (const part of message.content) {
      const item = itemOf(part, message, calls);
      const last = items.at(-1);
      if (!item) continue;
      if (item.kind === last?.kind && (item.kind === 'text' || item.kind === 'reasoning')) {
        // Pieces of a stream are one text.
        if (last.kind === item.kind) items[items.length - 1] = { ...item, text: last.text + item.text };
      } else items.push(item);
    }
  }
  return items;
}

function itemOf(part: Part, message: Message, calls: Call[]): Item | null {
  if (part.toolResponse) return answerCall(part, message, calls);
  if (part.toolRequest) {
    const call = callOf(part);
    const same = calls.findLast((one) => one.name === call.name && one.ref === call.ref && !one.hasOutput);
    if (message.role === 'tool' && same) {
      // The end of an interrupted turn repeats the requests, with what the tools ask.
      Object.assign(same, call);
      return null;
    }
    calls.push(call);
    return { kind: 'call', call };
  }
  if (typeof part.text === 'string') {
    if (message.role === 'system') return { kind: 'system', text: part.text };
    return part.text === '' ? null : { kind: 'text', text: part.text };
  }
  if (typeof part.reasoning === 'string') return { kind: 'reasoning', text: part.reasoning };
  if (part.media) return { kind: 'media', url: part.media.url, contentType: typeOf(part.media) };
  return { kind: 'value', value: part.data ?? part.custom ?? part.resource ?? part };
}

/** Puts a response to its request. One without a request is shown alone. */
function answerCall(part: Part, message: Message, calls: Call[]): Item | null {
  const { name, ref = null, output } = part.toolResponse ?? { name: '' };
  const call = calls.find((one) => one.name === name && one.ref === ref && !one.hasOutput);
  const isResumed = message.metadata?.['resumed'] === true;
  if (!call) return { kind: 'call', call: { name, ref, input: undefined, hasOutput: true, output, isResumed } };
  Object.assign(call, { hasOutput: true, output, isResumed });
  delete call.interrupt;
  delete call.isAnsweredLater;
  return null;
}

function callOf(part: Part): Call {
  const { name, ref = null, input } = part.toolRequest ?? { name: '' };
  const interrupt = part.metadata?.['interrupt'];
  const isPending = part.metadata != null && 'pendingOutput' in part.metadata;
  return {
    name,
    ref,
    input,
    hasOutput: isPending,
    isResumed: false,
    ...(isPending && { output: part.metadata?.['pendingOutput'] }),
    ...(interrupt !== undefined && { interrupt }),
    ...(part.metadata?.['resolvedInterrupt'] !== undefined && { isAnsweredLater: true }),
  };
}

/** The media type of a medium: as declared, or from its `data:` URL. */
export function typeOf(media: { url: string; contentType?: string | null }): string {
  return media.contentType || /^data:([^;,]+)/.exec(media.url)?.[1] || '';
}

/** The text of a message. */
export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('');
}

/** The input of a turn in one line: the text of its user, or the tools that were answered. */
export function inputOf(messages: readonly Message[]): string {
  const user = messages.findLast(({ role }) => role === 'user');
  const text = user ? textOf(user.content).trim() : '';
  if (user) return text || '(media)';
  const answered = messages.flatMap(({ content }) => content.flatMap(({ toolResponse }) => toolResponse?.name ?? []));
  return answered.join(', ');
}
