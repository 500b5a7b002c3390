// What a span is about: its kind, its input and output, its tokens and its errors.

import type { SpanData, SpanInfo, TokenUsage, TraceData, TraceInfo, WholeTrace } from '../api/tools_types';
import { isMessage, isMessages, type Message } from '../ui/conversation_parts';

/** The kind of a span, as `Kind` shows it. */
export function spanKind({ attributes }: SpanData): string {
  const type = text(attributes['genkit:type']);
  if (type === 'action' || type === '') return text(attributes['genkit:metadata:subtype']) || type || 'span';
  if (type === 'promptTemplate') return 'util';
  return type === 'dotprompt' ? 'prompt' : type;
}

export function spanName(span: SpanData): string {
  return span.displayName || text(span.attributes['genkit:name']) || span.spanId;
}

/** The key of the action that a span ran, `/model/offline/demo`. */
export function actionKey(span: SpanData): string | null {
  const key = text(span.attributes['genkit:key']);
  if (key) return key;
  const subtype = text(span.attributes['genkit:metadata:subtype']);
  return subtype ? `/${subtype}/${text(span.attributes['genkit:name'])}` : null;
}

export function isError(span: SpanData): boolean {
  return span.status?.code === 2 || text(span.attributes['genkit:state']) === 'error';
}

export function isRunning(span: SpanData): boolean {
  return !(span.endTime > 0);
}

/** The JSON of an attribute: runtimes send it as text. `undefined` if there is none. */
export function jsonAttribute(span: SpanData, name: string): unknown {
  const value = span.attributes[name];
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

export const inputOf = (span: SpanData): unknown => jsonAttribute(span, 'genkit:input');
export const outputOf = (span: SpanData): unknown => jsonAttribute(span, 'genkit:output');

/** The tokens of a model's span, read from its output where nobody has counted them. */
export function usageOf(span: SpanData, known?: TokenUsage | null): TokenUsage | null {
  if (known) return known;
  const kind = spanKind(span);
  if (kind !== 'model' && kind !== 'background-model') return null;
  const usage = member(outputOf(span), 'usage');
  return typeof usage === 'object' && usage !== null ? (usage as TokenUsage) : null;
}

export interface Talk {
  messages: Message[];
  answer: Message | null;
}

/** The conversation of a span, if its input is one. */
export function talkOf(span: SpanData): Talk | null {
  const [input, output] = [inputOf(span), outputOf(span)];
  const messages = member(input, 'messages');
  const message = member(input, 'message');
  const answer = member(output, 'message');
  const found = isMessages(messages) ? messages : isMessage(message) ? [message] : null;
  if (!found) return null;
  return { messages: found, answer: isMessage(answer) ? answer : null };
}

/** The names of the tools that a request offers. */
export function offeredTools(span: SpanData): string[] {
  const tools = member(inputOf(span), 'tools');
  if (!Array.isArray(tools)) return [];
  return tools.map((tool: unknown) => (typeof tool === 'string' ? tool : text(member(tool, 'name')))).filter(Boolean);
}

export function finishReason(span: SpanData): string {
  return text(member(outputOf(span), 'finishReason'));
}

export interface Failure {
  message: string;
  type: string;
  stack: string;
}

/** The failures of a span: its status, and the exceptions that it recorded. */
export function failuresOf(span: SpanData): Failure[] {
  const failures: Failure[] = [];
  for (const event of span.timeEvents?.timeEvent ?? []) {
    const annotation = (event as { annotation?: { description?: string; attributes?: Record<string, unknown> } }).annotation;
    if (annotation?.description !== 'exception') continue;
    const attributes = annotation.attributes ?? {};
    failures.push({
      message: text(attributes['exception.message']),
      type: text(attributes['exception.type']),
      stack: text(attributes['exception.stacktrace']),
    });
  }
  const message = span.status?.message ?? '';
  const isNew = message !== '' && !failures.some((one) => one.message === message);
  if (isError(span) && (isNew || failures.length === 0)) failures.unshift({ message, type: '', stack: '' });
  return failures;
}

/** The state of an agent after a turn, from the span of that turn. */
export function stateAfter(spans: readonly SpanData[]): { custom: unknown; turn: number } | null {
  const turn = spans.findLast((span) => /^runTurn/.test(spanName(span)));
  const state = turn && member(outputOf(turn), 'state');
  if (typeof state !== 'object' || state === null) return null;
  const messages = member(state, 'messages');
  const users = isMessages(messages) ? messages.filter(({ role }) => role === 'user').length : 0;
  return { custom: member(state, 'custom'), turn: users };
}

/** A trace of an exported file, in the form of the API. */
export function wholeTrace(data: TraceData): WholeTrace {
  const spans = Object.values(data.spans).map((span): SpanInfo => {
    const usage = usageOf(span);
    return { spanId: span.spanId, span, ...(usage && { usage }) };
  });
  const ids = new Set(Object.keys(data.spans));
  const root = spans.find(({ span }) => !span.parentSpanId || !ids.has(span.parentSpanId))?.span;
  const end = data.endTime || root?.endTime || null;
  const start = data.startTime ?? root?.startTime ?? 0;
  const trace: TraceInfo = {
    traceId: data.traceId,
    name: data.displayName ?? (root ? spanName(root) : data.traceId),
    type: root ? spanKind(root) : null,
    status: root && isError(root) ? 'error' : end ? 'success' : 'running',
    startTime: start,
    endTime: end,
    duration: end ? end - start : null,
    sessionId: root ? text(root.attributes['genkit:metadata:agent:sessionId']) || null : null,
    rootSpanId: root?.spanId ?? '',
    spans: spans.length,
    droppedSpans: 0,
    usage: summed(spans.map(({ usage }) => usage)),
  };
  return { trace, spans };
}

/** The sum of tokens; members that no span has stay unknown. */
export function summed(all: readonly (TokenUsage | null | undefined)[]): TokenUsage {
  const sum: Record<string, number> = {};
  for (const usage of all) {
    for (const name of ['inputTokens', 'outputTokens', 'totalTokens'] as const) {
      const count = usage?.[name];
      if (typeof count === 'number') sum[name] = (sum[name] ?? 0) + count;
    }
  }
  return sum as unknown as TokenUsage;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
