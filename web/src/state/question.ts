// What an interrupted session asks.

import type { Message } from '../api/tools_types';

export interface Asked {
  /** The tool that asks. */
  tool: string;
  /** What the tool asks, if it says so. */
  question: string | null;
  /** The input of the tool. */
  input: unknown;
}

/** The first tool call of a snapshot that was interrupted. */
export function questionOf(snapshot: { state?: unknown }): Asked {
  const state = snapshot.state as { messages?: Message[] } | undefined;
  const parts = state?.messages?.at(-1)?.content ?? [];
  for (const part of parts as Record<string, unknown>[]) {
    const call = part['toolRequest'] as { name?: string; input?: unknown } | undefined;
    const interrupt = (part['metadata'] as Record<string, unknown> | undefined)?.['interrupt'];
    if (call && interrupt !== undefined) {
      return { tool: call.name ?? '', question: textOf(interrupt), input: call.input };
    }
  }
  return { tool: '', question: null, input: undefined };
}

/** The text for people in the data of an interrupt. */
function textOf(interrupt: unknown): string | null {
  if (typeof interrupt === 'string') return interrupt;
  if (typeof interrupt !== 'object' || interrupt === null) return null;
  const texts = ['question', 'message', 'reason', 'prompt'].map((key) => (interrupt as Record<string, unknown>)[key]);
  return texts.find((text): text is string => typeof text === 'string') ?? null;
}

