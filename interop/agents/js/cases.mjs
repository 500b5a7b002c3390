// The official JS client of agents (`remoteAgent` of genkit/beta/client) against the
// agents of ../app. Prints `ok name` or `FAILED name: why` for every case.
//
//   node cases.mjs http://127.0.0.1:PORT

import assert from 'node:assert/strict';
import { AgentError, remoteAgent } from 'genkit/beta/client';
import { runCases } from './run-cases.mjs';

const base = process.argv[2];
const agent = (name, options) => remoteAgent({ url: `${base}/${name}`, ...options });
const store = agent('agentStore');
const client = agent('agentClient');
const custom = agent('customAgent');

/** The names of the members that the chunks have. */
const kinds = (chunks) => chunks.map(({ raw }) => Object.keys(raw).join());

/** Reads a turn to its end: chunks, then the response. */
async function read(turn) {
  const chunks = [];
  for await (const chunk of turn.stream) chunks.push(chunk);
  return { chunks, response: await turn.response };
}

/** The error that a turn fails with. */
async function failure(call) {
  const error = await call.then(
    (response) => assert.fail(`it answered ${JSON.stringify(response)}`),
    (error) => error,
  );
  assert.ok(error instanceof AgentError, `${error}`);
  assert.equal(error.response.finishReason, 'failed');
  return error;
}

const cases = {
  'chat: one turn': async () => {
    const chat = store.chat();
    const response = await chat.send('hello');
    assert.equal(response.text, 'echo(1): hello');
    assert.equal(response.finishReason, 'stop');
    assert.deepEqual(response.interrupts, []);
    assert.ok(response.snapshotId && response.sessionId);
    assert.equal(chat.snapshotId, response.snapshotId);
    assert.equal(chat.messages.length, 2);
    response.assertValid();
  },
  'chat: turns go on from each other': async () => {
    const chat = store.chat();
    const first = await chat.send('hello');
    const second = await chat.send('again');
    assert.equal(second.text, 'echo(3): again');
    assert.equal(second.sessionId, first.sessionId);
    assert.notEqual(second.snapshotId, first.snapshotId);
    assert.equal(chat.messages.length, 4);
  },
  'chat: two chats know nothing of each other': async () => {
    const [one, two] = [store.chat(), store.chat()];
    await Promise.all([one.send('a'), two.send('b')]);
    assert.notEqual(one.sessionId, two.sessionId);
    assert.equal((await two.send('c')).text, 'echo(3): c');
  },
  'chat: unicode and long texts': async () => {
    const text = `héllo 😀 \n\n 漢字 \u2028 "quoted" ${'x'.repeat(100_000)}`;
    assert.equal((await store.chat().send(text)).text, `echo(1): ${text}`);
  },
  'chat: media and several parts': async () => {
    const content = [{ text: 'a' }, { media: { url: 'data:,x' } }, { text: 'b' }];
    const chat = store.chat();
    assert.equal((await chat.send({ message: { role: 'user', content } })).text, 'echo(1): ab');
    const { state } = await store.getSnapshot(chat.snapshotId);
    assert.deepEqual(state.messages[0], { role: 'user', content });
  },
  'stream: words as they are said': async () => {
    const { chunks, response } = await read(store.chat().sendStream('three words here'));
    assert.deepEqual(chunks.map(({ text }) => text), ['echo(1): ', 'three ', 'words ', 'here', '']);
    assert.equal(chunks[2].accumulatedText, 'echo(1): three words ');
    assert.deepEqual(chunks.at(-1).raw, {
      turnEnd: { snapshotId: response.snapshotId, finishReason: 'stop' },
    });
    assert.deepEqual(chunks[1].raw, {
      modelChunk: { role: 'model', index: 0, content: [{ text: 'three ' }] },
    });
  },
  'stream: the first word before the last': async () => {
    const turn = store.chat().sendStream('/slow');
    const began = Date.now();
    for await (const { text } of turn.stream) {
      assert.equal(text, '0 ');
      break;
    }
    assert.ok(Date.now() - began < 2000);
    turn.abort();
    assert.equal((await turn.response).finishReason, 'aborted');
  },
  'stream: a tool round': async () => {
    const { chunks, response } = await read(
      store.chat().sendStream('/tool getWeather {"city":"Oslo"}'),
    );
    assert.deepEqual(chunks[0].raw.modelChunk, {
      role: 'tool',
      index: 0,
      content: [{ toolResponse: { name: 'getWeather', ref: 'ref1', output: { tempC: 11 } } }],
    });
    assert.equal(response.text, 'tool said {"tempC":11}');
    const { state } = await store.getSnapshot(response.snapshotId);
    assert.deepEqual(state.messages.map(({ role }) => role), ['user', 'model', 'tool', 'model']);
  },
  'interrupt: respond': async () => {
    const chat = store.chat();
    const response = await chat.send('/tool confirm {"q":"sure?"} c9');
    assert.equal(response.finishReason, 'interrupted');
    const [interrupt] = response.interrupts;
    assert.deepEqual([interrupt.name, interrupt.ref, interrupt.input], ['confirm', 'c9', { q: 'sure?' }]);
    const resumed = await chat.resume({ respond: [interrupt.respond({ ok: true })] });
    assert.equal(resumed.text, 'tool said {"ok":true}');
    assert.equal(resumed.finishReason, 'stop');
    const { state, parentId } = await store.getSnapshot(resumed.snapshotId);
    assert.equal(parentId, response.snapshotId);
    assert.deepEqual(state.messages[1].content[1].metadata, { resolvedInterrupt: true });
    assert.deepEqual(state.messages[2].metadata, { resumed: true });
  },
  'interrupt: the chunks of it': async () => {
    const chat = store.chat();
    const { chunks } = await read(chat.sendStream('/tool confirm {"q":"sure?"} c9'));
    assert.deepEqual(kinds(chunks), ['modelChunk', 'turnEnd']);
    assert.deepEqual(chunks[0].raw.modelChunk, {
      role: 'tool',
      content: [
        {
          toolRequest: { name: 'confirm', input: { q: 'sure?' }, ref: 'c9' },
          metadata: { interrupt: true },
        },
      ],
    });
    const respond = [{ toolResponse: { name: 'confirm', ref: 'c9', output: 1 } }];
    const resumed = await read(chat.resumeStream({ respond }));
    assert.deepEqual(resumed.chunks.slice(0, 2).map(({ raw }) => raw.modelChunk.index), [0, 1]);
  },
  'interrupt: restart, as the client builds it': async () => {
    const chat = store.chat();
    const { interrupts, message } = await chat.send('/tool danger {"path":"/p"} k2');
    assert.deepEqual(message.content[1].metadata, { interrupt: { why: 'needs approval' } });
    const { text } = await chat.resume({ restart: [interrupts[0].restart()] });
    assert.equal(text, 'tool said "deleted /p (true)"');
  },
  'interrupt: restart with a reason': async () => {
    const chat = store.chat();
    const { interrupts } = await chat.send('/tool danger {"path":"/p"} k2');
    const part = { ...interrupts[0].restart(), metadata: { resumed: { by: 'me' } } };
    const { text } = await chat.resume({ restart: [part] });
    assert.equal(text, `tool said ${JSON.stringify('deleted /p ({"by":"me"})')}`);
  },
  'interrupt: one of two tools': async () => {
    const chat = store.chat();
    const { interrupts } = await chat.send('/two');
    assert.deepEqual(interrupts.map(({ name }) => name), ['confirm']);
    const { text } = await chat.resume({ respond: [interrupts[0].respond({ ok: false })] });
    assert.equal(text, 'tool said {"tempC":11},{"ok":false}');
  },
  'interrupt: a forged answer': async () => {
    const chat = store.chat();
    const { snapshotId } = await chat.send('/tool danger {"path":"/p"} k2');
    const respond = [{ toolResponse: { name: 'nope', ref: 'x', output: 1 } }];
    const unknown = await failure(chat.resume({ respond }));
    assert.equal(unknown.status, 'INVALID_ARGUMENT');
    assert.match(unknown.message, /not found in session history/);
    const forged = { toolRequest: { name: 'danger', ref: 'k2', input: { path: '/etc' } } };
    const changed = await failure(chat.resume({ restart: [forged] }));
    assert.match(changed.message, /modified inputs/);
    assert.equal(chat.snapshotId, snapshotId);
  },
  'interrupt: another message instead': async () => {
    const chat = store.chat();
    await chat.send('/tool confirm {"q":"sure?"} c9');
    assert.equal((await chat.send('never mind')).text, 'echo(3): never mind');
  },
  'state: patches and artifacts': async () => {
    const chat = custom.chat();
    const { chunks, response } = await read(chat.sendStream('one'));
    assert.deepEqual(kinds(chunks), ['customPatch', 'customPatch', 'artifact', 'modelChunk', 'turnEnd']);
    assert.deepEqual(chunks[0].custom, { turns: 1, last: 'one' });
    assert.deepEqual(chunks[1].raw.customPatch, [
      { op: 'add', path: '/list', value: ['one'] },
      { op: 'add', path: '/a~1b~0c', value: 3 },
    ]);
    const state = { turns: 1, last: 'one', list: ['one'], 'a/b~c': 3 };
    assert.deepEqual(chunks[1].custom, state);
    assert.deepEqual(chat.state, state);
    assert.deepEqual(response.artifacts, [{ name: 'doc', parts: [{ text: 'one' }] }]);
  },
  'state: a second turn is told whole first': async () => {
    const chat = custom.chat();
    await chat.send('one');
    const { chunks } = await read(chat.sendStream('two'));
    assert.deepEqual(chunks[0].raw.customPatch[0].path, '');
    assert.deepEqual(chunks[1].raw.customPatch, [{ op: 'add', path: '/list/-', value: 'two' }]);
    assert.deepEqual(chat.state, { turns: 2, last: 'two', list: ['one', 'two'], 'a/b~c': 3 });
    assert.deepEqual(chat.artifacts, [{ name: 'doc', parts: [{ text: 'two' }] }]);
  },
  'state: changed by a tool': async () => {
    const chat = store.chat();
    const { chunks, response } = await read(
      chat.sendStream('/tool remember {"k":"color","v":"red"}'),
    );
    assert.deepEqual(kinds(chunks).slice(0, 3), ['customPatch', 'customPatch', 'artifact']);
    assert.deepEqual(response.state, { color: 'red', n: 1 });
    assert.deepEqual(chat.artifacts, [{ name: 'color', parts: [{ text: 'red' }] }]);
  },
  'load: by snapshot': async () => {
    const chat = custom.chat();
    const { snapshotId, sessionId } = await chat.send('one');
    const loaded = await custom.loadChat({ snapshotId });
    assert.deepEqual([loaded.snapshotId, loaded.sessionId], [snapshotId, sessionId]);
    assert.equal(loaded.messages.length, 2);
    assert.deepEqual(loaded.state, chat.state);
    assert.deepEqual(loaded.artifacts, chat.artifacts);
    assert.equal((await loaded.send('two')).text, 'custom:two');
    assert.equal(loaded.state.turns, 2);
  },
  'load: by session': async () => {
    const chat = store.chat();
    await chat.send('one');
    const { snapshotId, sessionId } = await chat.send('two');
    const loaded = await store.loadChat({ sessionId });
    assert.equal(loaded.snapshotId, snapshotId);
    assert.equal((await loaded.send('three')).text, 'echo(5): three');
  },
  'load: unknown': async () => {
    await assert.rejects(store.loadChat({ sessionId: 'nope' }), /404.*NOT_FOUND/);
    await assert.rejects(store.loadChat({ snapshotId: 'nope' }), /404.*NOT_FOUND/);
  },
  'chat: in a session of the client': async () => {
    const sessionId = `made-by-client-${process.pid}`;
    const first = await store.chat({ sessionId }).send('one');
    assert.equal(first.sessionId, sessionId);
    const second = await store.chat({ sessionId }).send('two');
    assert.equal(second.text, 'echo(3): two');
  },
  'chat: from a snapshot, twice': async () => {
    const { snapshotId, sessionId } = await store.chat().send('root');
    const [a, b] = [store.chat({ snapshotId }), store.chat({ snapshotId, sessionId })];
    assert.equal((await a.send('a')).text, 'echo(3): a');
    assert.equal((await b.send('b')).text, 'echo(3): b');
    for (const branch of [a, b]) {
      assert.equal((await store.getSnapshot(branch.snapshotId)).parentId, snapshotId);
    }
  },
  'snapshot: its members': async () => {
    const { snapshotId, sessionId } = await store.chat().send('hello');
    const snapshot = await store.getSnapshot(snapshotId);
    const members = ['snapshotId', 'sessionId', 'createdAt', 'updatedAt', 'status', 'finishReason', 'state'];
    assert.deepEqual(Object.keys(snapshot).sort(), members.sort());
    assert.deepEqual([snapshot.status, snapshot.finishReason], ['completed', 'stop']);
    assert.match(snapshot.createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(snapshot.state, {
      sessionId,
      artifacts: [],
      messages: [
        { role: 'user', content: [{ text: 'hello' }] },
        { role: 'model', content: [{ text: 'echo(1): hello' }] },
      ],
    });
    assert.deepEqual(await store.getSnapshot({ sessionId }), snapshot);
  },
  'snapshot: unknown': async () => {
    await assert.rejects(store.getSnapshot('nope'), /404.*NOT_FOUND/);
  },
  'snapshot: of an agent without a store': async () => {
    await assert.rejects(client.getSnapshot('nope'), /Server returned: 40[04]/);
  },
  'failure: the model, and on from the last good turn': async () => {
    const chat = store.chat();
    const { snapshotId } = await chat.send('good');
    const error = await failure(chat.send('/fail'));
    assert.deepEqual([error.status, error.snapshotId], ['UNAVAILABLE', snapshotId]);
    assert.match(error.message, /model down$/);
    assert.deepEqual(error.details, { retry: true });
    assert.equal((await chat.send('better')).text, 'echo(3): better');
  },
  'failure: by session after a failed turn': async () => {
    const chat = store.chat();
    const { sessionId } = await chat.send('good');
    await failure(chat.send('/fail'));
    const leaf = await store.getSnapshot({ sessionId });
    assert.deepEqual([leaf.status, leaf.finishReason, leaf.error.status], ['failed', 'failed', 'UNAVAILABLE']);
    assert.equal((await store.chat({ sessionId }).send('again')).text, 'echo(3): again');
  },
  'failure: the first turn': async () => {
    const error = await failure(custom.chat().send('fail now'));
    assert.deepEqual([error.status, error.snapshotId], ['RESOURCE_EXHAUSTED', undefined]);
    assert.deepEqual(error.details, { a: 1 });
  },
  'failure: an unknown snapshot': async () => {
    const error = await failure(store.chat({ snapshotId: 'nope' }).send('x'));
    assert.equal(error.status, 'NOT_FOUND');
  },
  'failure: a snapshot of another session': async () => {
    const { snapshotId } = await store.chat().send('x');
    // The client would drop the session.
    const body = { data: { message: { role: 'user', content: [{ text: 'y' }] } }, init: { snapshotId, sessionId: 'other' } };
    const response = await fetch(`${base}/agentStore`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /does not belong to session/);
  },
  'failure: a state for an agent with a store': async () => {
    const error = await failure(store.chat({ state: { custom: { a: 1 } } }).send('x'));
    assert.equal(error.status, 'FAILED_PRECONDITION');
    assert.match(error.message, /Cannot send 'state' to agent/);
  },
  'failure: no such agent': async () => {
    const error = await failure(agent('noSuchAgent').chat().send('x'));
    assert.match(error.message, /404/);
  },
  'client state: turns': async () => {
    const chat = client.chat({ state: { custom: { seed: true } } });
    const first = await chat.send('hi');
    assert.equal(first.snapshotId, undefined);
    assert.deepEqual(chat.state, { seed: true });
    const second = await chat.send('hi2');
    assert.equal(second.text, 'echo(3): hi2');
    assert.equal(second.sessionId, first.sessionId);
    assert.equal(chat.messages.length, 4);
    assert.deepEqual(second.raw.state.custom, { seed: true });
  },
  'client state: tools and interrupts': async () => {
    const chat = client.chat();
    await chat.send('/tool remember {"k":"a","v":1}');
    assert.deepEqual(chat.state, { a: 1, n: 1 });
    const { interrupts } = await chat.send('/tool confirm {"q":"?"} c1');
    const { text } = await chat.resume({ respond: [interrupts[0].respond('yes')] });
    assert.equal(text, 'tool said "yes"');
    assert.deepEqual(chat.artifacts, [{ name: 'a', parts: [{ text: '1' }] }]);
  },
  'client state: a failure gives the last good state back': async () => {
    const chat = client.chat({ state: { custom: { seed: true } } });
    await chat.send('hi');
    const error = await failure(chat.send('/fail'));
    assert.deepEqual([error.status, error.state], ['UNAVAILABLE', { seed: true }]);
    assert.equal((await chat.send('again')).text, 'echo(3): again');
  },
  'client state: a session id is refused': async () => {
    const error = await failure(client.chat({ sessionId: 's' }).send('x'));
    assert.equal(error.status, 'FAILED_PRECONDITION');
    assert.match(error.message, /Cannot use 'sessionId'/);
  },
  'client state: detach is refused': async () => {
    await assert.rejects(client.chat().detach('x'), /FAILED_PRECONDITION/);
  },
  'client state: of the wrong type': async () => {
    const typed = agent('agentSchema');
    const error = await failure(typed.chat({ state: { custom: { n: 'no' } } }).send('x'));
    assert.equal(error.status, 'INVALID_ARGUMENT');
    assert.deepEqual(error.state, { n: 'no' });
    assert.equal((await typed.chat({ state: { custom: { n: 1 } } }).send('x')).text, 'echo(1): x');
  },
  'detach: wait': async () => {
    const chat = custom.chat();
    const task = await chat.detach('wait 200');
    assert.equal(chat.snapshotId, task.snapshotId);
    const snapshot = await task.wait({ intervalMs: 20 });
    assert.deepEqual([snapshot.status, snapshot.finishReason], ['completed', 'stop']);
    assert.equal(snapshot.state.custom.last, 'wait 200');
    assert.equal((await chat.send('next')).text, 'custom:next');
    assert.equal(chat.state.turns, 2);
  },
  'detach: poll': async () => {
    const task = await custom.chat().detach('wait 800');
    const seen = [];
    for await (const { status } of task.poll({ intervalMs: 50 })) seen.push(status);
    assert.equal(seen[0], 'pending');
    assert.equal(seen.at(-1), 'completed');
  },
  'detach: abort': async () => {
    const chat = custom.chat();
    const task = await chat.detach('wait 20000');
    assert.equal(await task.abort(), 'pending');
    assert.equal((await task.wait({ intervalMs: 20 })).status, 'aborted');
    assert.equal(await task.abort(), 'aborted');
    const error = await failure(chat.send('x'));
    assert.equal(error.status, 'INVALID_ARGUMENT');
    assert.match(error.message, /not resumable \(status: aborted\)/);
  },
  'detach: a failure': async () => {
    const task = await custom.chat().detach('fail');
    const snapshot = await task.wait({ intervalMs: 20 });
    assert.deepEqual([snapshot.status, snapshot.finishReason], ['failed', 'failed']);
    assert.deepEqual([snapshot.error.status, snapshot.error.details], ['RESOURCE_EXHAUSTED', { a: 1 }]);
  },
  'detach: a prompt agent': async () => {
    const chat = store.chat();
    await chat.send('one');
    const snapshot = await (await chat.detach('two')).wait({ intervalMs: 20 });
    assert.equal(snapshot.state.messages.at(-1).content[0].text, 'echo(3): two');
  },
  'abort: what has ended, and what never was': async () => {
    const { snapshotId } = await store.chat().send('x');
    assert.equal(await store.abort(snapshotId), 'completed');
    assert.equal(await store.abort('nope'), undefined);
    assert.equal(await store.chat().abort(), undefined);
  },
  'transform: state and chunks': async () => {
    const chat = agent('redacted').chat();
    const { chunks, response } = await read(chat.sendStream('x'));
    assert.deepEqual(kinds(chunks), ['customPatch', 'turnEnd']);
    assert.deepEqual(response.raw.state.custom, { visible: 1 });
    assert.ok(!JSON.stringify([chunks.map(({ raw }) => raw), response.raw]).includes('hunter2'));
  },
  'transform: snapshots': async () => {
    const redacted = agent('redactedStore');
    const { snapshotId } = await redacted.chat().send('x');
    const snapshot = await redacted.getSnapshot(snapshotId);
    assert.deepEqual(snapshot.state.custom, { visible: 1 });
  },
  'client: headers from a function': async () => {
    let asked = 0;
    const headers = async () => ({ 'x-test': `${asked++}` });
    const chat = agent('agentStore', { headers }).chat();
    await chat.send('a');
    await chat.send('b');
    assert.equal(asked, 2);
  },
  'client: an abort signal': async () => {
    const { response } = store.chat().sendStream('x', { abortSignal: AbortSignal.abort() });
    assert.equal((await response).finishReason, 'aborted');
  },
  'client: a turn called off leaves the chat as it was': async () => {
    const chat = store.chat();
    const { snapshotId } = await chat.send('one');
    const turn = chat.sendStream('/slow');
    for await (const { text } of turn.stream) if (text === '1 ') break;
    turn.abort();
    await turn.response;
    assert.equal(chat.snapshotId, snapshotId);
    assert.equal((await chat.send('two')).text, 'echo(3): two');
  },
};

await runCases(cases);
