// Results by their shape: the answer of a model, messages, text, or JSON.

import { isObject } from '../form/schema';
import { isMessage, isMessages, textOf, type Message } from '../ui/conversation_parts';

export type ResultView = 'text' | 'conversation' | 'json';

export interface ReadResult {
  /** The views that make sense, the best first. */
  views: ResultView[];
  text: string;
  messages: Message[];
}

export function readResult(result: unknown): ReadResult {
  if (typeof result === 'string') return { views: ['text', 'json'], text: result, messages: [] };
  const messages = messagesOf(result);
  if (messages.length > 0) {
    const text = messages.map(textOf).join('\n\n').trim();
    const isPlain = messages.every((message) => message.content.every((part) => typeof part.text === 'string'));
    const views: ResultView[] = isPlain && messages.length === 1 ? ['text', 'conversation', 'json'] : ['conversation', 'json'];
    return { views, text, messages };
  }
  return { views: ['json'], text: '', messages: [] };
}

/** The messages of a model's response, of a rendered prompt, or of an agent's turn. */
function messagesOf(result: unknown): Message[] {
  if (isMessage(result)) return [result];
  if (isMessages(result) && result.length > 0) return result;
  if (!isObject(result)) return [];
  if (isMessage(result['message'])) return [result['message']];
  if (isMessages(result['messages']) && result['messages'].length > 0) return result['messages'];
  const candidates = result['candidates'];
  const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
  return isObject(first) && isMessage(first['message']) ? [first['message']] : [];
}

export interface Usage {
  input: number | null;
  output: number | null;
  cost: number | null;
}

const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);

/** The tokens in the response of a model, or of a whole trace. */
export function usageOf(result: unknown): Usage | null {
  const usage = isObject(result) && isObject(result['usage']) ? result['usage'] : null;
  if (!usage) return null;
  const read = { input: number(usage['inputTokens']), output: number(usage['outputTokens']), cost: number(usage['cost']) };
  return read.input === null && read.output === null && read.cost === null ? null : read;
}

export function finishOf(result: unknown): string | null {
  return isObject(result) && typeof result['finishReason'] === 'string' ? result['finishReason'] : null;
}

/** A cost in dollars, as short as possible. */
export function costText(cost: number | null): string {
  if (cost === null) return '–';
  return cost < 0.01 ? `$${cost.toPrecision(2)}` : `$${cost.toFixed(2)}`;
}

export interface RunFailure {
  status: string;
  /** Without the name of the status, which is shown beside it. */
  message: string;
  causes: string;
}

/** What to show of an error. */
export function failureOf(status: string, message: string, stack: string): RunFailure {
  const plain = message.startsWith(`${status}: `) ? message.slice(status.length + 2) : message;
  const isSame = stack.trim() === message.trim() || stack.trim() === `${status}: ${plain}`.trim();
  return { status, message: plain.trim() || status, causes: isSame ? '' : stack.trim() };
}
