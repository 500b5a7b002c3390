// What the odd runtime offers, and how it behaves.

import { randomBytes } from 'node:crypto';
import { kept } from './json.mjs';
import { post } from './posts.mjs';

/** Ids have uppercase digits. */
export const newTrace = () => randomBytes(16).toString('hex').toUpperCase();

const entry = (name, more = {}) => ({
  name, description: null, inputSchema: null, outputSchema: kept({ type: 'number', maximum: 10 }), streamSchema: null,
  initSchema: null, actionType: null, metadata: { nothing: null, list: kept([[1], null]), count: 3 }, ...more,
});

export const actions = {
  '/flow/echo': entry('echo', { description: 'Says it again\r\n' }),
  '/flow/chunks': entry('chunks'),
  '/flow/early': entry('early'),
  '/flow/post': entry('post'),
  '/flow/fail': entry('fail', { metadata: null }),
  '/flow/wait': entry('wait'),
  '/flow/nothing': entry('nothing'),
  '/flow/inputs': entry('inputs', { metadata: { bidi: true } }),
  '/tool/with/ÿ slash': entry('with/ÿ slash'),
};

export const values = { defaultModel: { name: 'odd', nothing: null, count: 3 } };

/** Waiting runs by their traces. */
const waiting = new Map();

/**
 * Runs an action. `say` has `state(traceId)`, `chunk(value)`, `result(value, traceId)` and
 * `fail(error)`; `inputs` are chunks of an input stream.
 */
export async function run({ key, input }, say, inputs) {
  const traceId = newTrace();
  switch (key) {
    case '/flow/echo':
      say.state(traceId);
      return say.result(kept(input ?? null), traceId);
    case '/flow/chunks':
      say.state(traceId);
      for (const chunk of [1, 'two\r\nlines', null, { three: [3] }]) say.chunk(kept(chunk));
      return say.result('all', traceId);
    case '/flow/early':
      say.chunk('before the state');
      say.state(traceId);
      say.state(newTrace());
      return say.result('late', traceId);
    case '/flow/post':
      say.state(traceId);
      return say.result(kept(await post(input, traceId)), traceId);
    case '/flow/fail':
      say.state(traceId);
      return say.fail(FAILURES[input](traceId));
    case '/flow/nothing':
      return say.result(undefined);
    case '/flow/wait': {
      const cancelled = new Promise((resolve) => waiting.set(traceId, resolve));
      say.state(traceId);
      await cancelled;
      return say.fail({ code: -32000, message: 'Action was cancelled', data: { code: 1, message: 'Action was cancelled', details: null } });
    }
    case '/flow/inputs': {
      say.state(traceId);
      let sum = 0;
      for await (const number of inputs) say.chunk(kept({ sum: (sum += number) }));
      return say.result(sum, traceId);
    }
    default:
      return say.missing(key);
  }
}

/** Whether there was such a run. */
export function cancel(traceId) {
  const end = waiting.get(traceId);
  waiting.delete(traceId);
  end?.();
  return end !== undefined;
}

/** Failures, each told in its own way. */
const FAILURES = {
  whole: (traceId) => ({ code: -32000, message: 'no', data: { code: 7, message: 'no', details: { stack: null, traceId } } }),
  'no details': () => ({ code: -32000, message: 'no', data: { code: 7, message: 'no', details: null } }),
  'no data': () => ({ code: -32000, message: 'no', data: null }),
  'no code': () => ({ code: -32000, message: 'no', data: { code: null, message: 'no' } }),
};
