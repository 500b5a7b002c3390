// Starts studios, and a search service that never answers.

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const processes = [];

/** Starts a studio on free ports. Its URL is that of its first agent. */
export async function startStudio(args = [], env = {}) {
  const child = spawn(process.argv[2], args, {
    env: { ...process.env, PORT: '0', STUDIO_AGENT_PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  processes.push(child);
  // Read to its end, so that the process never blocks on a full pipe.
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise((resolve, reject) => {
    lines.on('line', (line) => line.startsWith('listening on ') && resolve(line.slice(13)));
    lines.on('close', () => reject(new Error('the studio did not start')));
  });
  return { url, process: child };
}

export function stopAll() {
  for (const child of processes) child.kill('SIGKILL');
}

/** A server that never answers. `asked` is resolved by its first request. */
export async function stuckSearch() {
  let notify;
  const asked = new Promise((resolve) => (notify = resolve));
  const server = createServer(() => notify());
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/search`, asked };
}
