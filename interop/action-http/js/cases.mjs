// The official JS client (genkit/beta/client) against the application of
// ../app. Prints `ok name` or `FAILED name: why` for every case.
//
//   node cases.mjs http://127.0.0.1:PORT

import assert from 'node:assert/strict';
import { runFlow, streamFlow } from 'genkit/beta/client';

const base = process.argv[2];
const url = (name) => `${base}/${name}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Every status with the HTTP status it is told by. */
const STATUSES = {
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  UNAUTHENTICATED: 401,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  OUT_OF_RANGE: 400,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DATA_LOSS: 500,
};

/** Reads a stream to its end: chunks, then the output or the error. */
async function read(options) {
  const { stream, output, streamId } = streamFlow(options);
  const chunks = [];
  const outcome = output.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch {
    // The same error comes by `output`.
  }
  return { chunks, streamId: await streamId, ...(await outcome) };
}

/** What an HTTP error says: the client has it as text. */
async function httpError(call) {
  const error = await call.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (error) => error,
  );
  const [, http, body] = /^Server returned: (\d+): (.*)$/s.exec(error.message) ?? assert.fail(error);
  return { http: Number(http), ...JSON.parse(body) };
}

// The client fails its stream as well as its output; not every case reads both.
process.on('unhandledRejection', () => {});

let tags = 0;
const newTag = () => `js-${process.pid}-${tags++}`;

/** Waits until the run with this tag is cancelled; answers when that was. */
async function cancelledAt(tag) {
  for (const end = Date.now() + 3000; Date.now() < end; await sleep(5)) {
    const at = await runFlow({ url: url('cancelled'), input: tag });
    if (at !== null) return at;
  }
  assert.fail('the flow was not cancelled within 3 s');
}

const cases = {
  'run: an object': async () => {
    assert.deepEqual(await runFlow({ url: url('echo'), input: { a: 1, b: [true, null] } }), {
      got: { a: 1, b: [true, null] },
    });
  },
  'run: numbers, texts, lists and booleans': async () => {
    for (const input of [0, -1.5, '', 'text', [], [1, 'a'], false, true, {}]) {
      assert.deepEqual(await runFlow({ url: url('echo'), input }), { got: input });
    }
  },
  'run: null': async () => {
    assert.deepEqual(await runFlow({ url: url('echo'), input: null }), { got: null });
  },
  'run: no input': async () => {
    assert.deepEqual(await runFlow({ url: url('echo') }), { got: 'undefined' });
    assert.equal(await runFlow({ url: url('voidIn') }), 'banana');
  },
  'run: no output': async () => {
    assert.equal((await runFlow({ url: url('undefOut'), input: {} })) ?? null, null);
  },
  'run: unicode both ways': async () => {
    const input = 'héllo 😀 \n\n 漢字 \u2028 \u0000 "quoted"';
    assert.deepEqual(await runFlow({ url: url('echo'), input }), { got: input });
  },
  'run: a typed input, with a member too many': async () => {
    assert.equal(await runFlow({ url: url('typed'), input: { question: 'q', zzz: 1 } }), 'q=q');
  },
  'run: an input that does not fit': async () => {
    const error = await httpError(runFlow({ url: url('typed'), input: { question: 5 } }));
    assert.equal(error.http, 400);
    assert.equal(error.status, 'INVALID_ARGUMENT');
    assert.deepEqual(error.details.errors, [{ path: 'question', message: 'must be string' }]);
  },
  'run: an output that does not fit': async () => {
    const error = await httpError(runFlow({ url: url('badOut'), input: {} }));
    assert.deepEqual([error.http, error.status], [400, 'INVALID_ARGUMENT']);
  },
  'run: 1 MB both ways': async () => {
    const input = 'x'.repeat(1_000_000);
    assert.equal((await runFlow({ url: url('echo'), input })).got, input);
  },
  'run: init': async () => {
    assert.deepEqual(await runFlow({ url: url('initFlow'), input: 1, init: { sid: 's' } }), {
      i: 1,
      init: { sid: 's' },
    });
  },
  'run: an init that does not fit': async () => {
    const error = await httpError(runFlow({ url: url('initFlow'), input: 1, init: { sid: 5 } }));
    assert.deepEqual([error.http, error.status], [400, 'INVALID_ARGUMENT']);
  },
  'run: headers reach the context': async () => {
    const { context } = await runFlow({ url: url('ctxFlow'), input: 7, headers: { 'x-a': 'b' } });
    assert.equal(context.seen.method, 'POST');
    assert.equal(context.seen.headers['x-a'], 'b');
  },
  'run: a streaming flow, its chunks dropped': async () => {
    assert.equal(await runFlow({ url: url('count'), input: { n: 3 } }), 'done');
  },
  'run: an unknown path': async () => {
    const error = await httpError(runFlow({ url: url('nope'), input: 1 }));
    assert.deepEqual([error.http, error.status], [404, 'NOT_FOUND']);
  },
  'run: an error of no status is masked': async () => {
    const error = await httpError(runFlow({ url: url('throwing'), input: { kind: 'plain' } }));
    assert.deepEqual([error.http, error.status], [500, 'INTERNAL']);
    assert.doesNotMatch(JSON.stringify(error), /hunter2/);
  },
  'run: 50 at a time': async () => {
    const calls = Array.from({ length: 50 }, (_, n) => runFlow({ url: url('echo'), input: n }));
    assert.deepEqual((await Promise.all(calls)).map(({ got }) => got), [...Array(50).keys()]);
  },

  'auth: missing is 401': async () => {
    const error = await httpError(runFlow({ url: url('authed'), input: 1 }));
    assert.deepEqual([error.http, error.status], [401, 'UNAUTHENTICATED']);
  },
  'auth: wrong is 403': async () => {
    const headers = { Authorization: 'bad' };
    const error = await httpError(runFlow({ url: url('authed'), input: 1, headers }));
    assert.deepEqual([error.http, error.status], [403, 'PERMISSION_DENIED']);
  },
  'auth: right, as it is and as Bearer': async () => {
    for (const Authorization of ['sekret', 'Bearer sekret']) {
      const result = await runFlow({ url: url('authed'), input: 1, headers: { Authorization } });
      assert.deepEqual(result, { context: { auth: { apiKey: 'sekret' } } });
    }
  },
  'auth: missing on a stream is an HTTP error': async () => {
    const error = await httpError(streamFlow({ url: url('authed'), input: 1 }).output);
    assert.deepEqual([error.http, error.status], [401, 'UNAUTHENTICATED']);
  },
  'auth: right on a stream': async () => {
    const headers = { Authorization: 'sekret' };
    const { value } = await read({ url: url('authed'), input: 1, headers });
    assert.deepEqual(value, { context: { auth: { apiKey: 'sekret' } } });
  },

  'stream: chunks in order, then the result': async () => {
    const { chunks, value, streamId } = await read({ url: url('count'), input: { n: 100 } });
    assert.deepEqual(chunks.map(({ count }) => count), [...Array(100).keys()]);
    assert.equal(value, 'done');
    assert.equal(streamId, null);
  },
  'stream: a chunk arrives before the run ends': async () => {
    const { stream, output } = streamFlow({ url: url('count'), input: { n: 3, delay: 200 } });
    const first = await stream[Symbol.asyncIterator]().next();
    assert.deepEqual(first.value, { count: 0 });
    const came = Date.now();
    await output;
    assert.ok(Date.now() - came > 150, 'the first chunk was held back');
  },
  'stream: no chunk': async () => {
    const { chunks, value } = await read({ url: url('voidIn') });
    assert.deepEqual([chunks, value], [[], 'banana']);
  },
  'stream: no output': async () => {
    const { chunks, value, error } = await read({ url: url('undefOut'), input: {} });
    assert.deepEqual([chunks, value ?? null, error], [[], null, undefined]);
  },
  'stream: null, 0, {} and line breaks as chunks': async () => {
    const { chunks, value } = await read({ url: url('uni'), input: 1 });
    assert.deepEqual(chunks, ['héllo 😀 \n\n newline', null, 0, {}]);
    assert.equal(value, 'é😀');
  },
  'stream: 2000 chunks of multi-byte characters': async () => {
    const text = 'é漢😀\u2028'.repeat(40);
    const { chunks, value } = await read({ url: url('lines'), input: { n: 2000, text } });
    assert.equal(chunks.length, 2000);
    assert.ok(chunks.every((chunk) => chunk === text), 'a chunk was garbled');
    assert.equal(value, text);
  },
  'stream: a chunk of 200 kB': async () => {
    const { chunks, value } = await read({ url: url('big'), input: { size: 200_000 } });
    assert.deepEqual(chunks, ['x'.repeat(200_000)]);
    assert.deepEqual(value, { len: 15 });
  },
  'stream: init': async () => {
    const { value } = await read({ url: url('initFlow'), input: 1, init: { sid: 's' } });
    assert.deepEqual(value, { i: 1, init: { sid: 's' } });
  },
  'stream: an input that does not fit is in-band': async () => {
    const { chunks, error } = await read({ url: url('typed'), input: { question: 5 } });
    assert.deepEqual(chunks, []);
    assert.match(error.message, /^INVALID_ARGUMENT: /);
  },
  'stream: an error before the first chunk': async () => {
    const input = { kind: 'user', status: 'NOT_FOUND', message: 'no such' };
    const { chunks, error } = await read({ url: url('throwing'), input });
    assert.deepEqual(chunks, []);
    assert.match(error.message, /^NOT_FOUND: no such\n/);
  },
  'stream: an error after two chunks': async () => {
    // The client forgets chunks that its reader has not taken when an error comes,
    // whatever server sent them; the pause lets the reader take them.
    const input = { chunks: 2, delay: 50, status: 'ABORTED', message: 'later' };
    const { chunks, error } = await read({ url: url('throwing'), input });
    assert.deepEqual(chunks, [{ k: 0 }, { k: 1 }]);
    assert.match(error.message, /^ABORTED: later\n/);
  },
  'stream: an error of no status is masked': async () => {
    const { error } = await read({ url: url('throwing'), input: { kind: 'plain' } });
    assert.match(error.message, /^INTERNAL: /);
    assert.doesNotMatch(error.message, /hunter2/);
  },
  'stream: an unknown path': async () => {
    const error = await httpError(streamFlow({ url: url('nope'), input: 1 }).output);
    assert.deepEqual([error.http, error.status], [404, 'NOT_FOUND']);
  },

  'abort: a unary call is cancelled within 100 ms': async () => {
    const [abort, tag] = [new AbortController(), newTag()];
    const input = { tag, n: 50, delay: 100 };
    const call = runFlow({ url: url('slow'), input, abortSignal: abort.signal });
    const ended = assert.rejects(call, { name: 'AbortError' });
    await sleep(250);
    const aborted = Date.now();
    abort.abort();
    await ended;
    const late = (await cancelledAt(tag)) - aborted;
    assert.ok(late <= 100, `it took ${late} ms`);
  },
  'abort: a stream is cancelled within 100 ms': async () => {
    const [abort, tag] = [new AbortController(), newTag()];
    const input = { tag, n: 50, delay: 100 };
    const { stream, output } = streamFlow({ url: url('slow'), input, abortSignal: abort.signal });
    const ended = assert.rejects(output, { name: 'AbortError' });
    await stream[Symbol.asyncIterator]().next();
    const aborted = Date.now();
    abort.abort();
    await ended;
    const late = (await cancelledAt(tag)) - aborted;
    assert.ok(late <= 100, `it took ${late} ms`);
  },
  'abort: a run that is not aborted ends by itself': async () => {
    const tag = newTag();
    const result = await runFlow({ url: url('slow'), input: { tag, n: 2, delay: 20 } });
    assert.deepEqual(result, { finished: true });
    assert.equal(await runFlow({ url: url('cancelled'), input: tag }), null);
  },

  'durable: a stream has an id': async () => {
    const { chunks, value, streamId } = await read({ url: url('durableCount'), input: { n: 3 } });
    assert.deepEqual(chunks.map(({ count }) => count), [0, 1, 2]);
    assert.equal(value, 'done');
    assert.match(streamId, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  },
  'durable: resume a finished stream': async () => {
    const flow = url('durableCount');
    const { streamId } = await read({ url: flow, input: { n: 3 } });
    for (let times = 0; times < 2; times++) {
      const { chunks, value } = await read({ url: flow, streamId });
      assert.deepEqual(chunks.map(({ count }) => count), [0, 1, 2]);
      assert.equal(value, 'done');
    }
  },
  'durable: resume in flight, after the first reader left': async () => {
    const [abort, tag, flow] = [new AbortController(), newTag(), url('durableSlow')];
    const input = { tag, n: 6, delay: 100 };
    const first = streamFlow({ url: flow, input, abortSignal: abort.signal });
    const ended = assert.rejects(first.output, { name: 'AbortError' });
    await first.stream[Symbol.asyncIterator]().next();
    const streamId = await first.streamId;
    abort.abort();
    await ended;
    const { chunks, value } = await read({ url: flow, streamId });
    assert.deepEqual(chunks.map(({ k }) => k), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(value, { finished: true });
    assert.equal(await runFlow({ url: url('cancelled'), input: tag }), null);
  },
  'durable: two readers of one stream': async () => {
    const flow = url('durableSlow');
    const first = streamFlow({ url: flow, input: { tag: newTag(), n: 5, delay: 50 } });
    const second = await read({ url: flow, streamId: await first.streamId });
    assert.deepEqual(second.chunks.map(({ k }) => k), [0, 1, 2, 3, 4]);
    assert.deepEqual(await first.output, second.value);
  },
  'durable: resume a stream that failed': async () => {
    const flow = url('durableThrowing');
    const input = { chunks: 1, status: 'NOT_FOUND', message: 'gone' };
    const { streamId } = await read({ url: flow, input });
    const { chunks, error } = await read({ url: flow, streamId });
    assert.deepEqual(chunks, [{ k: 0 }]);
    assert.match(error.message, /^NOT_FOUND: gone\n/);
  },
  'durable: an unknown id': async () => {
    const streamId = '00000000-0000-4000-8000-000000000000';
    for (const id of [streamId, 'no-such-stream']) {
      const { output } = streamFlow({ url: url('durableCount'), streamId: id });
      await assert.rejects(output, { message: 'NOT_FOUND: Stream not found.' });
    }
  },
  'durable: an id is ignored without a store, and by a unary call': async () => {
    const headers = { 'x-genkit-stream-id': '00000000-0000-4000-8000-000000000000' };
    assert.equal((await read({ url: url('count'), input: { n: 1 }, headers })).value, 'done');
    const unary = await runFlow({ url: url('durableCount'), input: { n: 1 }, headers });
    assert.equal(unary, 'done');
  },
};

for (const [status, http] of Object.entries(STATUSES)) {
  const input = { status, message: 'm', details: { d: 1 } };
  cases[`status: ${status}, unary`] = async () => {
    const error = await httpError(runFlow({ url: url('throwing'), input }));
    assert.deepEqual(error, { http, code: http, status, message: 'm', details: { d: 1 } });
  };
  cases[`status: ${status}, in-band`] = async () => {
    const { chunks, error } = await read({ url: url('throwing'), input: { ...input, chunks: 1 } });
    assert.deepEqual(chunks, [{ k: 0 }]);
    assert.ok(error.message.startsWith(`${status}: m\n`), error.message);
  };
}

// A client that spins starves its own timers, so the runner has the last word.
for (const [name, run] of Object.entries(cases)) {
  const limit = sleep(10_000).then(() => assert.fail('it took more than 10 s'));
  try {
    await Promise.race([run(), limit]);
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${String(error?.message ?? error).replaceAll('\n', ' ')}`);
    process.exitCode = 1;
  }
}
process.exit();
