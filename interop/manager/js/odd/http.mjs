// V1 of the odd runtime: a file in an odd form, and answers cut at odd places.

import fs from 'node:fs';
import net from 'node:net';
import { actions, cancel, run, values } from './actions.mjs';
import { kept, write, ODD_LINE } from './json.mjs';
import { ID } from './runtime.mjs';

export async function serve() {
  const server = net.createServer((socket) => {
    socket.setNoDelay(true);
    socket.on('error', () => {});
    let received = Buffer.alloc(0);
    socket.on('data', async (data) => {
      received = Buffer.concat([received, data]);
      const end = received.indexOf('\r\n\r\n');
      if (end < 0) return;
      const head = received.subarray(0, end).toString();
      const length = Number(head.match(/content-length: *(\d+)/i)?.[1] ?? 0);
      if (received.length < end + 4 + length) return;
      const body = received.subarray(end + 4, end + 4 + length).toString();
      received = received.subarray(end + 4 + length);
      const [method, target] = head.split(' ');
      await answer(new Answer(socket), method, new URL(target, 'http://odd'), body && JSON.parse(body));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  fs.mkdirSync('.genkit/runtimes', { recursive: true });
  const file = {
    id: ID, pid: process.pid, name: null, reflectionServerUrl: `http://127.0.0.1:${port}/`,
    timestamp: '2026-11-15T06_32_35.191Z', genkitVersion: null, reflectionApiSpecVersion: 1,
  };
  fs.writeFileSync(`.genkit/runtimes/odd ${process.pid}.json`, write(file));
}

/** An answer whose body comes in chunks of a few bytes, some with an extension. */
class Answer {
  constructor(socket) {
    this.socket = socket;
  }

  begin(status, headers = {}) {
    const lines = Object.entries({ 'TRANSFER-ENCODING': 'Chunked', ...headers }).map(([name, value]) => `${name}:  ${value} \r\n`);
    this.socket.write(`HTTP/1.1 ${status} Odd\r\n${lines.join('')}\r\n`);
  }

  write(text) {
    const bytes = Buffer.from(text);
    for (let place = 0, size = 1; place < bytes.length; place += size, size = (size % 5) + 1) {
      const piece = bytes.subarray(place, place + size);
      this.socket.write(`${piece.length.toString(16).toUpperCase().padStart(3, '0')};odd="yes"\r\n`);
      this.socket.write(piece);
      this.socket.write('\r\n');
    }
  }

  end(text = '') {
    this.write(text);
    this.socket.write('0\r\nX-Trailer: odd\r\n\r\n');
  }

  whole(status, value) {
    this.begin(status, { 'content-type': 'Application/JSON;charset=UTF-8' });
    this.end(typeof value === 'string' ? value : write(value));
  }
}

async function answer(to, method, url, body) {
  switch (`${method} ${url.pathname.replaceAll(/\/+/g, '/')}`) {
    case 'GET /api/__health':
      return url.searchParams.get('id') === ID ? to.whole(200, { status: 'OK' }) : to.whole(503, 'another one');
    case 'POST /api/notify':
      return to.whole(200, {});
    case 'GET /api/actions':
      return to.whole(200, kept(actions));
    case 'GET /api/values': {
      const type = url.searchParams.get('type');
      return type in values ? to.whole(200, kept({ [type]: values[type] })) : to.whole(400, 'no such type');
    }
    case 'POST /api/cancelAction':
      return cancel(body.traceId) ? to.whole(200, { message: 'cancelled' }) : to.whole(404, { message: 'not found' });
    case 'POST /api/runAction':
      return runAction(to, body, url.searchParams.get('stream') === 'true');
    default:
      return to.whole(404, 'nothing');
  }
}

function runAction(to, params, streams) {
  let isBegun = false;
  const begin = (headers = {}) => {
    if (!isBegun) to.begin(200, { 'content-type': streams ? 'text/plain' : 'application/json', ...headers });
    isBegun = true;
  };
  const last = (value) => {
    begin();
    to.end(write(value, streams ? ODD_LINE : undefined));
  };
  return run(params, {
    state: (traceId) => begin({ 'x-GENKIT-trace-id': traceId, 'X-Genkit-Span-Id': traceId.slice(16) }),
    chunk: (chunk) => {
      begin();
      // Blank lines between them, and both ends of lines.
      if (streams) to.write(`${write(chunk, ODD_LINE)}\r\n\r\n`);
    },
    result: (result, traceId) => last({ result, error: null, telemetry: traceId ? { traceId } : null }),
    fail: ({ message, data }) => last({ result: null, error: data ?? { code: null, message, details: null } }),
    missing: (key) => to.whole(404, `action ${key} not found`),
  }, []);
}
