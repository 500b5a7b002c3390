// Cases of data sets as texts: what a file contains, and what a person types.

import type { Sample, SampleInput } from '../api/tools_types';

/**
 * The cases of a file: a JSON array of cases or of inputs, the same below `samples` or `data`, or one
 * JSON value in each line.
 *
 * Throws an `Error` with a text for people if it is none of these.
 */
export function parseCases(text: string): SampleInput[] {
  const trimmed = text.trim();
  if (!trimmed) throw new Error('The file is empty.');
  let value: unknown;
  try {
    value = JSON.parse(trimmed);
  } catch (error) {
    return parseLines(trimmed, error);
  }
  if (isObject(value)) value = value['samples'] ?? value['data'] ?? [value];
  if (!Array.isArray(value)) throw new Error('The file has no array of cases.');
  return value.map(toCase);
}

function parseLines(text: string, whole: unknown): SampleInput[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (lines.length < 2) throw whole instanceof Error ? whole : new Error(String(whole));
  return lines.map((line, index) => {
    try {
      return toCase(JSON.parse(line));
    } catch (error) {
      throw new Error(`Line ${index + 1} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  });
}

/** An object with `input` is a case; everything else is an input. */
function toCase(value: unknown): SampleInput {
  if (!isObject(value) || !('input' in value)) return { input: value };
  const { testCaseId, input, reference } = value;
  return {
    input,
    ...(typeof testCaseId === 'string' && testCaseId && { testCaseId }),
    ...(reference !== undefined && { reference }),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as one line. */
export function oneLine(value: unknown): string {
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** A value as a person edits it; empty if there is none. */
export function editable(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2);
}

/** Reads what a person has typed: `undefined` for an empty text. Throws if it is not JSON. */
export function readEditable(text: string): unknown {
  return text.trim() ? JSON.parse(text) : undefined;
}

/** Cases whose id, input or reference contains the text. */
export function filterCases(samples: readonly Sample[], text: string): readonly Sample[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return samples;
  return samples.filter(({ testCaseId, input, reference }) =>
    `${testCaseId} ${oneLine(input)} ${oneLine(reference)}`.toLowerCase().includes(wanted),
  );
}
