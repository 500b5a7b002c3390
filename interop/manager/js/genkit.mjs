// The official one-shot commands, against a runtime that our tools manage.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

/** These start a telemetry server of their own, on a port that they find: one by one. */
export const genkitAlone = (kit) => ({
  'genkit: flow:run finds the runtime': async () => {
    const output = await kit.genkit(['flow:run', 'greet', '{"name":"A"}'], { ours: false });
    assert.match(output, /"text": "Hi A"/);
    assert.match(output, /Trace ID: [0-9a-f]{32}/);
  },
});

/** These use ours, as after `export $(oxikit env)`. */
export const genkitCases = (kit) => ({
  'genkit: flow:batchRun, eval:extractData, eval:run': async () => {
    kit.write('batch.json', [{ name: 'G1' }, { name: 'G2' }]);
    await kit.genkit(['flow:batchRun', 'greet', 'batch.json', '--label', 'lot', '--output', 'answers.json']);
    assert.deepEqual(kit.read('answers.json').map(({ output }) => output.text), ['Hi G1', 'Hi G2']);
    await kit.genkit(['eval:extractData', 'greet', '--label', 'lot', '--output', 'extracted.json']);
    const cases = kit.read('extracted.json');
    assert.deepEqual(cases.map(({ output }) => output.text).sort(), ['Hi G1', 'Hi G2']);
    await kit.genkit(['eval:run', 'extracted.json', '--output', 'judged-too.json']);
    assert.deepEqual(kit.read('judged-too.json').map(({ metrics }) => metrics[0].score), [16, 16]);
  },
  'genkit: eval:flow': async () => {
    const cases = '[{"testCaseId":"t1","input":{"name":"A"}}]';
    await kit.genkit(['eval:flow', 'greet', cases, '--output', 'judged.json']);
    const [{ output, metrics, traceIds }] = kit.read('judged.json');
    assert.deepEqual([output, metrics[0].score], [{ text: 'Hi A' }, 15]);
    assert.equal((await kit.get(`/api/v1/traces/${traceIds[0]}`)).status, 200);
  },
  // A runtime of V1 they ask themselves.
  ...(kit.v1 ? {} : throughUs(kit)),
});

const throughUs = (kit) => ({
  'genkit: flow:run -s': async () => {
    const output = await kit.genkit(['flow:run', 'countdown', '3', '-s']);
    assert.match(output, /^3\n2\n1\nResult:\nliftoff\n/m);
  },
  'genkit: flow:run -c': async () => {
    const output = await kit.genkit(['flow:run', 'greet', '{"name":"A"}', '-c', '{"auth":{"uid":"u"}}']);
    assert.match(output, /Hi A \(auth\)/);
  },
  'genkit: flow:run of a flow that fails': async () => {
    const output = await kit.genkit(['flow:run', 'boom', '1']);
    assert.match(output, /Code: 13\n.*Message: kaboom\n.*Trace ID: [0-9a-f]{32}/);
  },
  'genkit: flow:run of an unknown flow': async () => {
    const output = await kit.genkit(['flow:run', 'nope', '1']);
    assert.match(output, /action \/flow\/nope not found/);
  },
  'genkit: trace:list': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Stock' });
    const output = await kit.genkit(['trace:list', '--name', 'greet', '--status', 'success', '--limit', '50']);
    const shown = new RegExp(`^ID: +${traceId}\nType: +flow\nName: +greet\nStatus: +success\n`, 'm');
    assert.match(output, shown);
    assert.doesNotMatch(output, /Name: +boom/);
  },
  'genkit: trace:get': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Stock' });
    const output = await kit.genkit(['trace:get', traceId]);
    assert.match(output, /greet \(flow\) \[[\d.]+ms\] ✔[^]*compose \(flowStep\) \[[\d.]+ms\] ✔/);
  },
  'genkit: log:list': async () => {
    const { traceId } = await kit.run('/flow/greet', { name: 'Logged' });
    const output = await kit.genkit(['log:list', '--trace-id', traceId]);
    assert.match(output, /Severity: INFO\n.*\nMessage: +greeting Logged/);
  },
});

/** What the project holds for the official commands, and who may read it. */
export const fileCases = (kit) => ({
  'files: one for the runtime, for its owner only where it has a token': async () => {
    const folder = path.join(kit.project, '.genkit/runtimes');
    const names = fs.readdirSync(folder);
    assert.equal(names.length, 1, names.join());
    const file = JSON.parse(fs.readFileSync(path.join(folder, names[0])));
    assert.deepEqual([file.id, file.pid], [kit.own.id, kit.own.pid]);
    if (kit.v1) return;
    assert.equal(fs.statSync(path.join(folder, names[0])).mode & 0o777, 0o600);
    assert.ok(file.reflectionServerUrl.startsWith(kit.url));
  },
});
