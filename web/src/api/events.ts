// A stream of server-sent events. `EventSource` cannot send the token, so this reads the stream of
// a request.

import { respond } from './http';

/** Calls `listener` for each event, until the stream ends or `signal` fires. */
export async function readEvents<T>(
  path: string,
  signal: AbortSignal,
  opened: () => void,
  listener: (event: T) => void,
): Promise<void> {
  const response = await respond('GET', path, { signal, headers: { accept: 'text/event-stream' } });
  if (!response.body) return;
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replace(/\r\n?/g, '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).trimStart())
        .join('\n');
      if (data) listener(JSON.parse(data) as T);
    }
  }
}
