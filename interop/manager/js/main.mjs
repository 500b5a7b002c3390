// Starts our tools with the official application, and runs the cases.
//
//   node main.mjs v2|v1 SCRATCH OXIKIT

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { ended, isAlive } from '../../reflection/js/tools.mjs';
import { agentCases } from './agents.mjs';
import { apiCases } from './api.mjs';
import { runCases } from './cases.mjs';
import { commandCases } from './commands.mjs';
import { evaluationCases } from './evaluations.mjs';
import { fileCases, genkitAlone, genkitCases } from './genkit.mjs';
import { Oxikit } from './oxikit.mjs';
import { procedureCases, recordedCases } from './recorded.mjs';
import { traceCases } from './traces.mjs';

const [mode, scratch, program] = process.argv.slice(2);
const kit = new Oxikit(path.resolve(scratch), program);

/** The checks of the reflection suites, of the official endpoints. */
async function checkRuntime() {
  const checker = path.join(import.meta.dirname, '../../reflection/js/check-runtime.mjs');
  const options = kit.v1 ? ['--v1'] : [];
  const checks = spawn('node', [checker, kit.url, kit.manager.telemetryUrl, ...options], { stdio: 'inherit' });
  if ((await ended(checks)) !== 0) process.exitCode = 1;
}

const endCases = {
  'end: SIGTERM ends both, and nothing is left': async () => {
    assert.equal(await kit.stopTools(), 0);
    assert.equal(isAlive(kit.own.pid), false);
    for (const folder of ['runtimes', 'servers']) {
      assert.deepEqual(fs.readdirSync(path.join(kit.project, '.genkit', folder)), []);
    }
    assert.equal((await kit.oxikit(['flow', 'run', 'greet', '{}'])).code, 3);
  },
};

try {
  await kit.startTools({ v1: mode === 'v1' });
  await runCases(fileCases(kit));
  await Promise.all([checkRuntime(), runCases(recordedCases(kit)), runCases(apiCases(kit))]);
  // Alone: these look at the newest traces.
  await runCases(traceCases(kit));
  await runCases(procedureCases(kit));
  await runCases(evaluationCases(kit));
  const genkit = runCases(genkitAlone(kit)).then(() => runCases(genkitCases(kit), 3));
  await Promise.all([genkit, runCases(agentCases(kit)), runCases(commandCases(kit))]);
  await runCases(endCases);
} finally {
  kit.killAll();
}
process.exit();
