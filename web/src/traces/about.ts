// The one line of a row of the list that says what the trace is about.

import type { TraceInfo } from '../api/tools_types';

/** Kinds whose inputs are conversations: their last text says most. */
const TALKS = new Set(['agent', 'model', 'background-model', 'prompt', 'executable-prompt', 'util']);
/** A member `text` of JSON that may be cut anywhere. */
const TEXT = /"(?:text|input)"\s*:\s*"((?:[^"\\]|\\.)*)/g;

/** Why it failed, or the beginning of its input; `null` if neither is known. */
export function aboutOf({ error, input, type }: Pick<TraceInfo, 'error' | 'input' | 'type'>): string | null {
  if (error) return error;
  // The input of an evaluator is the whole data set, as JSON of the framework.
  if (!input || type === 'evaluator') return null;
  return (TALKS.has(type ?? '') && lastText(input)) || input;
}

function lastText(json: string): string | null {
  const last = [...json.matchAll(TEXT)].at(-1)?.[1];
  if (last === undefined) return null;
  try {
    return JSON.parse(`"${last}"`) as string;
  } catch {
    return last;
  }
}
