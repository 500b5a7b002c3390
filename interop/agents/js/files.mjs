// Our FileSessions and the official FileSessionStore on one directory: what one
// server writes, the other goes on with. Prints `ok name` or `FAILED name: why` for
// every case.
//
//   node files.mjs OUR_URL OFFICIAL_URL DIRECTORY

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { remoteAgent } from 'genkit/beta/client';
import { runCases, sleep } from './run-cases.mjs';

const [ours, theirs, directory] = process.argv.slice(2);
const agents = (base) => ({
  agent: remoteAgent({ url: `${base}/agentFile` }),
  custom: remoteAgent({ url: `${base}/customFile` }),
});

const stored = async (name) => JSON.parse(await readFile(`${directory}/global/${name}.json`, 'utf8'));

/** Every case is run both ways. */
const bothWays = {
  'go on by session, there and back': async (one, other) => {
    const { sessionId } = await one.agent.chat().send('a');
    const there = await (await other.agent.loadChat({ sessionId })).send('b');
    assert.equal(there.text, 'echo(3): b');
    const back = await (await one.agent.loadChat({ sessionId })).send('c');
    assert.equal(back.text, 'echo(5): c');
    assert.equal((await other.agent.getSnapshot(back.snapshotId)).parentId, there.snapshotId);
  },
  'go on by snapshot': async (one, other) => {
    const chat = one.agent.chat();
    const { snapshotId } = await chat.send('a');
    await chat.send('b');
    assert.equal((await other.agent.chat({ snapshotId }).send('c')).text, 'echo(3): c');
  },
  'both read the same snapshot': async (one, other) => {
    const chat = one.custom.chat();
    await chat.send('a');
    const { snapshotId } = await chat.send('b');
    const snapshot = await one.custom.getSnapshot(snapshotId);
    assert.deepEqual(await other.custom.getSnapshot(snapshotId), snapshot);
    assert.deepEqual(await stored(snapshotId), snapshot);
  },
  'the pointer of a session': async (one, other) => {
    const { sessionId } = await one.agent.chat().send('a');
    const { snapshotId } = await other.agent.chat({ sessionId }).send('b');
    const pointer = await stored(`.pointers/${sessionId}`);
    assert.equal(pointer.currentSnapshotId, snapshotId);
    assert.match(pointer.updatedAt, /Z$/);
    assert.equal((await one.agent.getSnapshot({ sessionId })).snapshotId, snapshotId);
  },
  'a session id of the client': async (one, other) => {
    const sessionId = `shared-${process.pid}-${one === sides.ours}`;
    await one.agent.chat({ sessionId }).send('a');
    assert.equal((await other.agent.chat({ sessionId }).send('b')).text, 'echo(3): b');
  },
  'custom state and artifacts': async (one, other) => {
    const chat = one.custom.chat();
    const { sessionId } = await chat.send('a');
    const there = await other.custom.loadChat({ sessionId });
    assert.deepEqual(there.state, chat.state);
    await there.send('b');
    const back = await one.custom.loadChat({ sessionId });
    assert.deepEqual(back.state, { turns: 2, last: 'b', list: ['a', 'b'], 'a/b~c': 1 });
    assert.deepEqual(back.artifacts, [{ name: 'doc', parts: [{ text: 'b' }] }]);
  },
  'an interrupt of one, answered at the other': async (one, other) => {
    const { interrupts, snapshotId } = await one.agent.chat().send('/tool confirm {"q":"?"} c1');
    const respond = [interrupts[0].respond({ ok: true })];
    const resumed = await other.agent.chat({ snapshotId }).resume({ respond });
    assert.equal(resumed.text, 'tool said {"ok":true}');
  },
  'a tool of one, started again at the other': async (one, other) => {
    const { interrupts, snapshotId } = await one.agent.chat().send('/tool danger {"path":"/p"} d1');
    const restart = [{ ...interrupts[0].restart(), metadata: { resumed: { by: 'me' } } }];
    const { text } = await other.agent.chat({ snapshotId }).resume({ restart });
    assert.match(text, /deleted \/p/);
  },
  'a failed turn of one': async (one, other) => {
    const chat = one.agent.chat();
    const { sessionId, snapshotId } = await chat.send('good');
    await assert.rejects(chat.send('/fail'));
    const leaf = await other.agent.getSnapshot({ sessionId });
    assert.deepEqual([leaf.status, leaf.parentId, leaf.error.status], ['failed', snapshotId, 'UNAVAILABLE']);
    assert.equal((await other.agent.chat({ sessionId }).send('again')).text, 'echo(3): again');
  },
  'two branches': async (one, other) => {
    const { snapshotId, sessionId } = await one.agent.chat().send('root');
    await one.agent.chat({ snapshotId }).send('a');
    await sleep(5);
    const newest = await other.agent.chat({ snapshotId }).send('b');
    for (const side of [one, other]) {
      assert.equal((await side.agent.getSnapshot({ sessionId })).snapshotId, newest.snapshotId);
    }
  },
  'detached work of one, seen by the other': async (one, other) => {
    const task = await one.custom.chat().detach('wait 800');
    assert.equal((await other.custom.getSnapshot(task.snapshotId)).status, 'pending');
    const { sessionId } = await task.wait({ intervalMs: 30 });
    const snapshot = await other.custom.getSnapshot(task.snapshotId);
    assert.deepEqual([snapshot.status, snapshot.state.custom.last], ['completed', 'wait 800']);
    const next = await other.custom.chat({ snapshotId: task.snapshotId }).send('next');
    assert.equal(next.text, 'custom:next');
    assert.equal((await one.custom.getSnapshot({ sessionId })).snapshotId, next.snapshotId);
  },
  'detached work of one, stopped by the other': async (one, other) => {
    const task = await one.custom.chat().detach('wait 3500');
    assert.equal(await other.custom.abort(task.snapshotId), 'pending');
    assert.equal((await task.wait({ intervalMs: 30 })).status, 'aborted');
    // Until after the end of what was to be done.
    await sleep(4000);
    const snapshot = await stored(task.snapshotId);
    assert.equal(snapshot.status, 'aborted');
    assert.equal(snapshot.state.custom, undefined);
  },
  'many turns in turn': async (one, other) => {
    const sessionId = `in-turn-${process.pid}-${one === sides.ours}`;
    for (let turn = 0; turn < 10; turn++) {
      const side = turn % 2 ? other : one;
      const { text } = await side.agent.chat({ sessionId }).send(`t${turn}`);
      assert.equal(text, `echo(${2 * turn + 1}): t${turn}`);
    }
  },
};

const sides = { ours: agents(ours), theirs: agents(theirs) };
const cases = {};
for (const [name, run] of Object.entries(bothWays)) {
  cases[`ours first: ${name}`] = () => run(sides.ours, sides.theirs);
  cases[`theirs first: ${name}`] = () => run(sides.theirs, sides.ours);
}
await runCases(cases);
