// A stream of server-sent events. `EventSource` can neither send a token nor a body, so this reads
// the stream of a request.

import { respond, type Call } from './http';

/** Calls `listener` for each event of a GET, until the stream ends or `signal` fires. */
export async function readEvents<T>(
  path: string,
  signal: AbortSignal,
  opened: () => void,
  listener: (event: T, id: string | null) => void,
): Promise<void> {
  await streamEvents<T>('GET', path, { signal }, listener, opened);
}

/** Calls `listener` for each event of a request, with its id, until the stream ends. */
export async function streamEvents<T>(
  method: string,
  path: string,
  call: Call,
  listener: (event: T, id: string | null, name: string) => void,
  opened: (response: Response) => void = () => undefined,
): Promise<void> {
  const headers = { ...call.headers, accept: 'text/event-stream' };
  const response = await respond(method, path, { ...call, headers });
  if (!response.body) return;
  opened(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replace(/\r\n?/g, '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event.data) listener(JSON.parse(event.data) as T, event.id, event.name);
    }
  }
}

function parseBlock(block: string): { data: string; id: string | null; name: string } {
  const data: string[] = [];
  let id: string | null = null;
  let name = 'message';
  for (const line of block.split('\n')) {
    const at = line.indexOf(':');
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'id') id = value;
    else if (field === 'event') name = value;
  }
  return { data: data.join('\n'), id, name };
}
