// Runs cases by name and prints `ok name` or `FAILED name: why` for each.

import assert from 'node:assert/strict';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The client fails its stream as well as its output; not every case reads both.
process.on('unhandledRejection', () => {});

/** Runs them one after another, and ends the program. */
export async function runCases(cases) {
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
}
