// The commands of the official CLI with an application: what they print, and how
// they end. Prints `ok name` or `FAILED name: why` for every case.
//
//   node cli.mjs SCRATCH COMMAND…

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Tools, ended, isAlive, signal, until } from './tools.mjs';

const [scratch, ...app] = process.argv.slice(2);
const tools = new Tools(path.resolve(scratch), app);
const here = import.meta.dirname;
const isOurs = !app.includes('node');

/** Ends `genkit start` as a terminal or a supervisor does, and looks at what is left. */
async function endsWith(v2, name) {
  const { child, runtime } = await tools.start({ v2 });
  signal(-child.pid, name);
  // The CLI has no handler for SIGINT.
  assert.equal(await ended(child, 5_000), name === 'SIGINT' ? 'SIGINT' : 0);
  await until('the end of the application', () => !isAlive(runtime.pid), 5_000);
  assert.deepEqual(tools.runtimeFiles(), []);
}

const starts = {
  'start, V2: SIGINT ends the application': () => endsWith(true, 'SIGINT'),
  'start, V2: SIGTERM ends both': () => endsWith(true, 'SIGTERM'),
  'start, V1: SIGINT ends the application, its file is gone': () => endsWith(false, 'SIGINT'),
  'start, V1: SIGTERM ends both, its file is gone': () => endsWith(false, 'SIGTERM'),
};

/** The same with a running application (V1) and with one that the CLI starts (V2). */
const flowRuns = (options, version) => ({
  [`flow:run, ${version}: result and trace id`]: async () => {
    const output = await succeed(['flow:run', 'greet', '{"name":"A"}'], options);
    assert.match(output, /"text": "Hi A"/);
    assert.match(output, /Trace ID: [0-9a-f]{32}/);
  },
  [`flow:run -s, ${version}: chunks in order`]: async () => {
    const output = await succeed(['flow:run', 'countdown', '3', '-s'], options);
    assert.match(output, /^3\n2\n1\nResult:\nliftoff\n/m);
  },
  [`flow:run -c, ${version}: context`]: async () => {
    const context = ['-c', '{"auth":{"uid":"u"}}'];
    const output = await succeed(['flow:run', 'greet', '{"name":"A"}', ...context], options);
    assert.match(output, /Hi A \(auth\)/);
  },
  // The exit code is 0 for every failure.
  [`flow:run, ${version}: a flow that fails`]: async () => {
    const output = await succeed(['flow:run', 'boom', '1'], options);
    assert.match(output, /Code: 13\n.*Message: kaboom\n.*Trace ID: [0-9a-f]{32}/);
  },
  [`flow:run, ${version}: an unknown flow`]: async () => {
    const output = await succeed(['flow:run', 'nope', '1'], options);
    assert.match(output, /action \/flow\/nope not found/);
    // The official runtime gives it nothing to show.
    if (isOurs && options.app) assert.match(output, /Code: 5\n/);
  },
});

const alone = {
  'flow:run finds an application started by hand, which ends with SIGTERM': async () => {
    const child = await tools.startApp();
    const output = await succeed(['flow:run', 'countdown', '1']);
    assert.match(output, /liftoff/);
    signal(child.pid, 'SIGTERM');
    assert.equal(await ended(child, 2_000), 0);
    assert.deepEqual(tools.runtimeFiles(), []);
  },
};

const data = {
  'flow:batchRun --label --output': async () => {
    write('batch.json', [{ name: 'B1' }, { name: 'B2' }]);
    const args = ['batch.json', '--label', 'lot', '--output', 'answers.json'];
    await succeed(['flow:batchRun', 'greet', ...args], { app: true });
    const answers = read('answers.json').map(({ output }) => output.text);
    assert.deepEqual(answers, ['Hi B1', 'Hi B2']);
  },
  'eval:extractData --label': async () => {
    await succeed(['eval:extractData', 'greet', '--label', 'lot', '--output', 'extracted.json']);
    const cases = read('extracted.json');
    assert.deepEqual(cases.map(({ input }) => input.name).sort(), ['B1', 'B2']);
    assert.deepEqual(cases.map(({ output }) => output.text).sort(), ['Hi B1', 'Hi B2']);
  },
  'eval:flow': async () => {
    const cases = '[{"testCaseId":"t1","input":{"name":"A"}}]';
    await succeed(['eval:flow', 'greet', cases, '--output', 'judged.json'], { app: true });
    const [{ output, metrics, traceIds }] = read('judged.json');
    assert.deepEqual(output, { text: 'Hi A' });
    assert.equal(traceIds.length, 1);
    assert.deepEqual(metrics.map(({ evaluator, score, rationale }) => [evaluator, score, rationale]), [
      ['/evaluator/lengthEval', 15, 'len'],
    ]);
  },
  'eval:run': async () => {
    await succeed(['eval:run', 'extracted.json', '--output', 'judged-too.json'], { app: true });
    assert.deepEqual(read('judged-too.json').map(({ metrics }) => metrics[0].score), [16, 16]);
  },
};

let traceId;
const traces = {
  'trace:list --name --status success': async () => {
    const output = await succeed(['trace:list', '--name', 'greet', '--status', 'success']);
    traceId = output.match(/^ID: +([0-9a-f]{32})\nType: +flow\nName: +greet\nStatus: +success\n/m)?.[1];
    assert.ok(traceId, output);
    assert.match(output, /Duration: [\d.]+ms\nInput: +\{"name":"\w+"\}\nOutput: +\{"text":"Hi \w+/);
  },
  'trace:list --status error': async () => {
    const output = await succeed(['trace:list', '--status', 'error']);
    assert.match(output, /Name: +boom\nStatus: +error\n/);
    assert.doesNotMatch(output, /Name: +greet\n/);
  },
  'trace:get: the step below the flow': async () => {
    const output = await succeed(['trace:get', traceId]);
    assert.match(output, /greet \(flow\) \[[\d.]+ms\] ✔[^]*compose \(flowStep\) \[[\d.]+ms\] ✔/);
  },
  'trace:get --format json': async () => {
    const output = await succeed(['trace:get', traceId, '--format', 'json']);
    const trace = JSON.parse(output.slice(output.indexOf('{')));
    const steps = Object.values(trace.spans).map((span) => span.attributes['genkit:path']);
    assert.deepEqual(steps.sort(), ['/{greet,t:flow}', '/{greet,t:flow}/{compose,t:flowStep}']);
  },
  'log:list --trace-id': async () => {
    const output = await succeed(['log:list', '--trace-id', traceId]);
    assert.match(output, /Severity: INFO\n.*\nMessage: +greeting \w+/);
  },
};

const models = {
  'dev:test-model --from-file': async () => {
    const output = await succeed(['dev:test-model', '--from-file', path.join(here, 'model-test.yaml')], { app: true });
    assert.match(output, /2 Passed, 0 Failed/);
  },
};

const end = {
  'no runtime file is left': async () => assert.deepEqual(tools.runtimeFiles(), []),
};

try {
  await runCases(starts);
  const session = await tools.start({ v2: false });
  await runCases(flowRuns({ app: false }, 'V1'));
  await tools.stop(session.child);
  for (const cases of [alone, flowRuns({ app: true }, 'V2'), data, traces, models, end]) await runCases(cases);
} finally {
  tools.killAll();
}
process.exit();

async function runCases(cases) {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`FAILED ${name}: ${String(error?.message ?? error).replaceAll('\n', ' ')}`);
      process.exitCode = 1;
    }
  }
}

/** Runs `genkit`, which has to end with 0, and answers what it printed. */
async function succeed(args, options) {
  const { code, output } = await tools.run(args, options);
  assert.equal(code, 0, output);
  return output;
}

function write(name, value) {
  fs.writeFileSync(path.join(tools.project, name), JSON.stringify(value));
}

function read(name) {
  return JSON.parse(fs.readFileSync(path.join(tools.project, name)));
}
