// V2 of the odd runtime: binary and fragmented frames, ids as numbers, a bare list.

import WebSocket from 'ws';
import { actions, cancel, run, values } from './actions.mjs';
import { float, integer, kept, write, PLAIN } from './json.mjs';
import { ID } from './runtime.mjs';

let socket;
let [frames, answers] = [0, 0];
const inputs = new Map();

export function dial(url) {
  socket = new WebSocket(url);
  socket.on('open', () => {
    const params = {
      id: ID, pid: process.pid, name: null, genkitVersion: null, reflectionApiSpecVersion: 1, envs: null,
    };
    send({ jsonrpc: '2.0', id: 7, method: 'register', params });
    // Pings of its own, with a payload.
    socket.ping('odd');
  });
  socket.on('message', (data) => receive(JSON.parse(data)));
  socket.on('close', () => setTimeout(() => dial(url), 100));
  socket.on('error', () => {});
}

function receive({ id, method, params }) {
  // The answer to the registration.
  if (!method) return;
  // A number where a text was sent is the same id: as an integer, or as a float.
  const echoed = [id, integer(id), float(id)][answers++ % 3];
  const answer = (result) => send({ jsonrpc: '2.0', error: null, result, id: echoed });
  const fail = (error) => send({ jsonrpc: '2.0', result: null, error, id: echoed });
  switch (method) {
    case 'listActions':
      return answer(kept(actions));
    case 'listValues':
      return params.type in values ? answer({ values: kept({ [params.type]: values[params.type] }) }) : fail({ code: -32602, message: 'no such type' });
    case 'runAction':
      inputs.set(id, queue());
      return run(params, {
        state: (traceId) => send({ method: 'runActionState', params: { requestId: echoed, state: { traceId, spanId: null } }, id: null }),
        chunk: (chunk) => send({ method: 'streamChunk', params: { requestId: echoed, chunk }, result: null }),
        result: (result, traceId) => answer({ result, telemetry: traceId ? { traceId, spanId: null } : null }),
        missing: (key) => fail({ code: -32602, message: `action ${key} not found` }),
        fail,
      }, inputs.get(id));
    case 'cancelAction':
      return cancel(params.traceId) ? answer({ message: 'cancelled' }) : fail({ code: -32602, message: 'not found' });
    case 'sendInputStreamChunk':
      return inputs.get(params.requestId)?.push(params.chunk);
    case 'endInputStream':
      return inputs.get(params.requestId)?.end();
    default:
      if (id !== undefined) fail({ code: -32601, message: `Method not found: ${method}` });
  }
}

/** Every frame is sent in another way; the first as binary, in three pieces. */
function send(message) {
  const text = frames % 5 === 4 ? write(message, PLAIN) : write(message);
  const binary = frames % 2 === 0;
  if (frames++ % 3 === 0) {
    const bytes = Buffer.from(text);
    // In the middle of a character, if there is one of two bytes.
    const middle = Math.max(bytes.indexOf(0xc3) + 1, 1);
    socket.send(bytes.subarray(0, middle), { binary, fin: false });
    socket.send(Buffer.alloc(0), { binary, fin: false });
    socket.send(bytes.subarray(middle), { binary, fin: true });
  } else {
    socket.send(Buffer.from(text), { binary });
  }
}

/** Inputs as they come. */
function queue() {
  const items = [];
  let [wake, ended] = [() => {}, false];
  return {
    push(item) {
      items.push(item);
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        if (items.length) yield items.shift();
        else if (ended) return;
        else await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}
