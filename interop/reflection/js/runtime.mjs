// Starts `genkit start` with an application, and checks the runtime behind it.
//
//   node runtime.mjs v2|v1 SCRATCH COMMAND…

import { spawn } from 'node:child_process';
import path from 'node:path';
import { Tools, ended } from './tools.mjs';

const [mode, scratch, ...app] = process.argv.slice(2);
const tools = new Tools(path.resolve(scratch), app);
try {
  const { api, telemetry, child } = await tools.start({ v2: mode === 'v2' });
  const v1 = mode === 'v1' ? ['--v1'] : [];
  const checker = path.join(import.meta.dirname, 'check-runtime.mjs');
  const checks = spawn('node', [checker, api, telemetry, ...v1], { stdio: 'inherit' });
  process.exitCode = await ended(checks);
  await tools.stop(child);
} finally {
  tools.killAll();
}
process.exit();
