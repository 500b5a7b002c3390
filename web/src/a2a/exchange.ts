// The raw exchange with an agent: requests with their responses and the pieces of their bodies.

import type { Exchange } from './types';

export interface Call {
  method: string;
  url: string;
  headers: readonly (readonly [string, string])[];
  body: string;
  response: { http: string; headers: readonly (readonly [string, string])[]; body: string } | null;
}

/** Adds a step: a request begins a call, a response and bodies belong to the last one. */
export function withStep(calls: readonly Call[], step: Exchange): readonly Call[] {
  if (step.step === 'request') {
    const { method = '', url = '', headers = [], text = '' } = step;
    return [...calls, { method, url, headers, body: text, response: null }];
  }
  const last = calls.at(-1);
  if (!last) return calls;
  const known = last.response ?? { http: '', headers: [], body: '' };
  const response =
    step.step === 'response'
      ? { http: String(step.http ?? ''), headers: step.headers ?? [], body: known.body + (step.text ?? '') }
      : { ...known, body: known.body + (step.text ?? '') };
  return [...calls.slice(0, -1), { ...last, response }];
}

/** JSON values of a body: the whole, or each event of a stream. `null` if it is other text. */
export function jsonOf(body: string): unknown[] | null {
  const whole = parsed(body);
  if (whole.ok) return [whole.value];
  const events = body
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => parsed(line.slice(5)));
  return events.length > 0 && events.every(({ ok }) => ok) ? events.map((event) => (event.ok ? event.value : null)) : null;
}

function parsed(text: string): { ok: true; value: unknown } | { ok: false } {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false };
  }
}
