// Our own command line.

import assert from 'node:assert/strict';
import { HEX32 } from './cases.mjs';

export const commandCases = (kit) => ({
  'cli: flow run': async () => {
    const { stdout, stderr } = await kit.succeed(['flow', 'run', 'greet', '{"name":"Ada"}']);
    assert.deepEqual(JSON.parse(stdout), { text: 'Hi Ada' });
    assert.match(stderr, /oxikit trace show [0-9a-f]{32}/);
    const { json } = await kit.succeed(['flow', 'run', 'greet', '{"name":"Ada"}', '--json']);
    assert.deepEqual([json.ok, json.result], [true, { text: 'Hi Ada' }]);
    assert.match(json.traceId, HEX32);
  },
  'cli: flow run by Genkit\'s spelling, with a context, from the standard input': async () => {
    const spelled = await kit.succeed(['flow:run', 'greet', '{"name":"A"}', '-c', '{"auth":{"uid":"u"}}', '--json']);
    assert.equal(spelled.json.result.text, 'Hi A (auth)');
    const piped = await kit.succeed(['flow', 'run', 'greet', '-', '--json'], { input: '{"name":"B"}' });
    assert.equal(piped.json.result.text, 'Hi B');
  },
  'cli: flow run -s': async () => {
    const { lines } = await kit.succeed(['flow', 'run', 'countdown', '3', '-s', '--json']);
    assert.deepEqual(lines.slice(0, -1), [{ chunk: 3 }, { chunk: 2 }, { chunk: 1 }]);
    assert.equal(lines.at(-1).result, 'liftoff');
    const { stdout } = await kit.succeed(['flow:run', 'countdown', '3', '-s']);
    assert.match(stdout, /^3\n2\n1\n\s*liftoff\n$/);
  },
  'cli: a flow that fails ends with 1': async () => {
    const failed = await kit.oxikit(['flow', 'run', 'boom', '1', '--json']);
    assert.deepEqual([failed.code, failed.json.ok, failed.json.error.status], [1, false, 'INTERNAL']);
    assert.equal(failed.json.error.message, 'kaboom');
    assert.match(failed.json.traceId, HEX32);
    const shown = await kit.oxikit(['flow', 'run', 'denied', '1']);
    assert.deepEqual([shown.code, shown.stdout], [1, '']);
    assert.match(shown.stderr, /PERMISSION_DENIED: not for you/);
    const late = await kit.oxikit(['flow', 'run', 'boomStream', '1', '-s', '--json']);
    assert.deepEqual([late.code, late.lines[0], late.json.ok], [1, { chunk: 'one' }, false]);
  },
  'cli: what cannot be run has its exit code': async () => {
    const code = async (...args) => (await kit.oxikit(args)).code;
    assert.equal(await code('flow', 'run', 'nope', '1'), 1);
    assert.equal(await code('flow', 'run', 'greet', '{"name":5}'), 1);
    assert.equal(await code('flow', 'run', 'greet', 'Ada'), 2);
    assert.equal(await code('flow', 'run', 'greet', '{"name":"A"}', '--runtime', 'nobody'), 3);
    assert.equal(await code('trace', 'show', 'f'.repeat(32)), 1);
    assert.equal(await code('agent', 'chat', 'nobody', 'hello'), 1);
  },
  'cli: --timeout cancels': async () => {
    const { code, json } = await kit.oxikit(['flow', 'run', 'slow', '20000', '--timeout=0.3', '--json']);
    assert.deepEqual([code, json.error.status], [1, 'DEADLINE_EXCEEDED']);
  },
  'cli: flow batch': async () => {
    kit.write('inputs.json', [{ name: 'B1' }, { name: 7 }, { name: 'B3' }]);
    const batch = await kit.oxikit(['flow:batchRun', 'greet', 'inputs.json', '--label=ours', '--output=rows.json', '--json']);
    assert.equal(batch.code, 1);
    assert.deepEqual(batch.lines.map(({ index, ok }) => [index, ok]), [[0, true], [1, false], [2, true]]);
    assert.deepEqual(kit.read('rows.json').map((row) => row.result?.text), ['Hi B1', undefined, 'Hi B3']);
    kit.write('lines.jsonl', '{"name":"C1"}\n{"name":"C2"}\n');
    assert.equal((await kit.succeed(['flow', 'batch', 'greet', 'lines.jsonl', '--json'])).lines.length, 2);
  },
  'cli: action list, action run': async () => {
    const { actions } = (await kit.succeed(['action', 'list', '--type', 'flow', '--json'])).json;
    assert.ok(actions['/flow/greet'] && !actions['/tool/add']);
    const { stdout } = await kit.succeed(['action', 'list']);
    assert.match(stdout, /^\/tool\/add +adds two numbers$/m);
    const { json } = await kit.succeed(['action', 'run', '/tool/add', '{"a":2,"b":3}', '--json']);
    assert.deepEqual([json.ok, json.result], [true, 5]);
    const model = ['action', 'run', '/model/echo/model', '{"messages":[{"role":"user","content":[{"text":"hi"}]}]}', '-s', '--json'];
    const { lines } = await kit.succeed(model);
    assert.equal(lines.slice(0, -1).map(({ chunk }) => chunk.content[0].text).join(''), 'Echo: hi ');
  },
  'cli: agent list': async () => {
    const { json } = await kit.succeed(['agent', 'list', '--json']);
    const kept = Object.fromEntries(json.map(({ name, stateManagement }) => [name, stateManagement]));
    assert.deepEqual(kept, { askingAgent: 'server', clientAgent: 'client', customAgent: 'server', storeAgent: 'server' });
  },
  'cli: agent chat and session show': async () => {
    const chat = async (message) => (await kit.succeed(['agent', 'chat', 'storeAgent', message, '--session=cli-1', '--json'])).json;
    const first = await chat('one');
    assert.deepEqual([first.text, first.sessionId, first.finishReason], ['Echo: one', 'cli-1', 'stop']);
    await chat('two');
    const { json } = await kit.succeed(['session', 'show', 'storeAgent', 'cli-1', '--json']);
    assert.equal(json.threads.main.length, 4);
    const { stdout } = await kit.succeed(['session:show', 'storeAgent', 'cli-1']);
    assert.match(stdout, /^user: one\nmodel: Echo: one\nuser: two\nmodel: Echo: two\n/);
    assert.equal((await kit.oxikit(['session', 'show', 'storeAgent', 'nope'])).code, 1);
  },
  'cli: agent chat line by line, where the client keeps the state': async () => {
    const { lines } = await kit.succeed(['agent', 'chat', 'clientAgent', '--json'], { input: 'one\ntwo\n' });
    assert.deepEqual(lines.map(({ text }) => text), ['Echo: one', 'Echo: two']);
  },
  'cli: a tool that asks back is answered by the next line': async () => {
    const { lines } = await kit.succeed(['agent', 'chat', 'askingAgent', '--json'], { input: 'do it\n"yes"\n' });
    assert.deepEqual(lines[0].interrupts.map(({ name, input }) => [name, input]), [['askUser', { question: 'really?' }]]);
    assert.deepEqual([lines[1].text, lines[1].interrupts], ['you said yes', []]);
  },
  'cli: a turn that fails ends with 1': async () => {
    const { code, json } = await kit.oxikit(['agent', 'chat', 'customAgent', 'fail', '--json']);
    assert.deepEqual([code, json.ok, json.error.message], [1, false, 'turn failed']);
  },
  'cli: runtimes, app status, env, doctor': async () => {
    const { json } = await kit.succeed(['runtimes', '--json']);
    assert.deepEqual([json.current, json.runtimes.length], [kit.own.id, 1]);
    assert.match((await kit.succeed(['runtimes'])).stdout, new RegExp(`^\\* +${kit.own.id} `, 'm'));
    assert.equal((await kit.succeed(['app', 'status', '--json'])).json.state, 'running');
    assert.equal((await kit.succeed(['env', '--json'])).json.GENKIT_TELEMETRY_SERVER, kit.manager.telemetryUrl);
    const findings = (await kit.succeed(['doctor', '--json'])).json;
    assert.deepEqual(findings.filter(({ verdict }) => verdict === 'bad'), []);
  },
});
