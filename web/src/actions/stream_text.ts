// What chunks say: text that is read while it comes, reasoning, and everything else as values.

import { isObject } from '../form/schema';

export interface Streamed {
  text: string;
  reasoning: string;
  /** Chunks that are neither, and those of which only a part is. */
  others: unknown[];
}

/** Adds a chunk. A chunk of a model has parts; a flow may send anything. */
export function addChunk(streamed: Streamed, chunk: unknown): void {
  if (typeof chunk === 'string') {
    streamed.text += chunk;
    return;
  }
  const inner = isObject(chunk) && isObject(chunk['modelChunk']) ? chunk['modelChunk'] : chunk;
  const content = isObject(inner) ? inner['content'] : undefined;
  if (!Array.isArray(content)) {
    streamed.others.push(chunk);
    return;
  }
  for (const part of content as unknown[]) {
    if (isObject(part) && typeof part['text'] === 'string') streamed.text += part['text'];
    else if (isObject(part) && typeof part['reasoning'] === 'string') streamed.reasoning += part['reasoning'];
    else streamed.others.push(part);
  }
}

export interface Tick {
  /** The position from 0 to 1. */
  at: number;
  /** The number of chunks there. */
  count: number;
}

/** The chunks over time, in at most `places` ticks: many chunks share one. */
export function ticksOf(times: readonly number[], whole: number, places = 160): Tick[] {
  if (whole <= 0) return [];
  const counts = new Map<number, number>();
  for (const time of times) {
    const place = Math.min(places - 1, Math.floor((time / whole) * places));
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  return [...counts].map(([place, count]) => ({ at: place / places, count }));
}

/** The usual time between two chunks in milliseconds; `null` if there are fewer than two. */
export function pauseBetween(times: readonly number[]): number | null {
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || times.length < 2) return null;
  return (last - first) / (times.length - 1);
}
