// One version of the official JavaScript client against the agents of ../app.
//
//     node cases.mjs VERSION RECEIVER SCRIPT REPLY LOCKED
//
// VERSION is a key of CLIENTS in clients.mjs. The others are the addresses of the receiver of
// notifications and of the agents.
// Prints one line of JSON for every case.

import assert from 'node:assert/strict';

import { CLIENTS, codeOf, last } from './clients.mjs';

const [version, receiver, ...urls] = process.argv.slice(2);
const { connect, bindings, load } = CLIENTS[version];
const sdk = await load();

const TASK_NOT_FOUND = -32001;
const TASK_NOT_CANCELABLE = -32002;

/** The time that a case may take. */
const LIMIT = 10_000;

async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function failure(call) {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return assert.fail('the call did not fail');
}

async function refused(call, code) {
  const error = await failure(call);
  assert.equal(codeOf(error), code, `expected ${code}: ${error.name}: ${error.message}`);
}

/** A task that works until it is released or canceled. The stream that began it is left. */
async function held(agent) {
  const stream = agent.stream('hold');
  const { value: task } = await stream.next();
  await stream.return();
  assert.equal(task.kind, 'task');
  assert.match(task.state, /submitted|working/);
  return task;
}

/** A new webhook of the receiver. */
const webhook = () => ({ url: `${receiver}/${crypto.randomUUID()}`, token: 'push token' });

/**
 * Compares the notifications of a webhook, from the first to the end of the task: kind, state and
 * text. In 0.3 each of them is the whole task.
 */
async function received(hook, expected) {
  const is0 = version.includes('0.3');
  const form = {
    version: is0 ? '0.3' : '1.0',
    type: is0 ? 'application/json' : 'application/a2a+json',
    token: hook.token,
  };
  const all = await (await fetch(hook.url)).json();
  for (const { version, type, token } of all) assert.deepEqual({ version, type, token }, form);
  assert.deepEqual(
    // A webhook that is registered later may miss this one.
    all
      .map(({ kind, state, text }) => `${kind} ${state} ${text}`.trimEnd())
      .filter((it) => !/^(task|status) working$/.test(it)),
    expected[form.version],
  );
}

const CASES = {
  async card({ script }) {
    const card = await script.card();
    assert.equal(card.name, 'Script');
    assert.equal(card.description, 'Does what a message says.');
    assert.equal(card.capabilities.streaming, true);
    assert.equal(card.skills.length, 1);
  },

  async send({ script }) {
    const task = await script.send('hello');
    assert.deepEqual([task.state, task.result], ['completed', 'hello']);
    assert.deepEqual(await script.get(task.id), task);
  },

  async 'send without waiting'({ script }) {
    const task = await script.send('hold', { wait: false });
    assert.match(task.state, /submitted|working/);
    await script.cancel(task.id);
  },

  async stream({ script }) {
    const [first, ...rest] = await all(script.stream('chunks'));
    assert.equal(first.kind, 'task');
    const end = rest.pop();
    assert.deepEqual([end.kind, end.state, end.final ?? true], ['status', 'completed', true]);
    const chunks = rest.filter(({ kind }) => kind === 'artifact');
    assert.deepEqual(chunks.map(({ result, append, last }) => [result, append, last]), [
      ['one ', false, false],
      ['two ', true, false],
      ['three', true, true],
    ]);
  },

  async message({ reply }) {
    assert.deepEqual(await reply.send('hello'), { kind: 'message', said: 're: hello' });
    assert.deepEqual(await all(reply.stream('you')), [{ kind: 'message', said: 're: you' }]);
  },

  async 'ask and answer'({ script }) {
    const asked = await script.send('ask');
    assert.deepEqual([asked.state, asked.said], ['input-required', 'which city?']);
    const answered = await script.send('Paris', { taskId: asked.id });
    assert.equal(answered.id, asked.id);
    assert.deepEqual([answered.state, answered.result], ['completed', 'answer: Paris']);
  },

  async 'ask in a stream'({ script }) {
    const events = await all(script.stream('ask'));
    const end = events.at(-1);
    assert.deepEqual([end.kind, end.state], ['status', 'input-required']);
    assert.deepEqual([end.said, end.final ?? true], ['which city?', true]);
  },

  async fail({ script }) {
    const task = await script.send('fail');
    assert.deepEqual([task.state, task.said], ['failed', 'no such city']);
  },

  async cancel({ script }) {
    const { id } = await held(script);
    assert.equal((await script.cancel(id)).state, 'canceled');
    assert.equal((await script.get(id)).state, 'canceled');
  },

  async resubscribe({ script }) {
    const { id } = await held(script);
    const stream = script.subscribe(id);
    const first = (await stream.next()).value;
    assert.deepEqual([first.kind, first.id], ['task', id]);
    await script.send(`release ${id}`);
    const events = await all(stream);
    const kinds = events.filter(({ state }) => state !== 'working').map(({ kind }) => kind);
    assert.deepEqual(kinds, ['artifact', 'status']);
    assert.equal(events.at(-1).state, 'completed');
    assert.equal((await script.get(id)).result, 'released');
  },

  async push({ script }) {
    const hook = webhook();
    await script.send('chunks', { hook });
    await received(hook, {
      '0.3': ['task submitted', 'task submitted one two three', 'task completed one two three'],
      '1.0': [
        'task submitted',
        'artifact  one',
        'artifact  two',
        'artifact  three',
        'status completed',
      ],
    });
  },

  async 'push for a running task'({ script }) {
    const { id } = await held(script);
    const hook = webhook();
    assert.equal(await script.notify(id, hook), hook.url);
    await script.send(`release ${id}`);
    await received(hook, {
      '0.3': ['task working released', 'task completed released'],
      '1.0': ['artifact  released', 'status completed'],
    });
  },

  async 'unknown task'({ script }) {
    await refused(() => script.get('nobody'), TASK_NOT_FOUND);
    await refused(() => script.cancel('nobody'), TASK_NOT_FOUND);
    await refused(() => script.send('hello', { taskId: 'nobody' }), TASK_NOT_FOUND);
  },

  async 'unknown task in a stream'({ script }) {
    await refused(() => all(script.subscribe('nobody')), TASK_NOT_FOUND);
  },

  async 'cancel too late'({ script }) {
    const { id } = await script.send('hello');
    await refused(() => script.cancel(id), TASK_NOT_CANCELABLE);
  },

  async 'auth refused'({ locked }) {
    // The card can be read without a key.
    assert.equal((await locked.card()).name, 'locked');
    for (const call of [() => locked.send('hello'), () => all(locked.stream('hello'))]) {
      last.status = undefined;
      await failure(call);
      assert.equal(last.status, 401);
    }
  },

  async 'auth accepted'({ unlocked }) {
    assert.equal((await unlocked.send('hello')).result, 'hello');
    assert.equal((await all(unlocked.stream('chunks'))).at(-1).state, 'completed');
  },
};

/** The agents, each connected by its card. */
async function agents(binding) {
  const [script, reply, locked] = urls;
  const agent = (url, key) => connect(sdk, url, binding, key);
  return {
    script: await agent(script),
    reply: await agent(reply),
    locked: await agent(locked),
    unlocked: await agent(locked, true),
  };
}

async function outcome(run, binding) {
  const limit = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`it took more than ${LIMIT} ms`)), LIMIT);
  });
  try {
    await Promise.race([agents(binding).then(run), limit]);
    return { ok: true };
  } catch (error) {
    return { ok: false, why: String(error?.message ?? error) };
  }
}

for (const binding of bindings) {
  for (const [name, run] of Object.entries(CASES)) {
    const peer = `js ${version}`;
    const line = { peer, binding, case: name, ...(await outcome(run, binding)) };
    console.log(JSON.stringify(line));
  }
}
process.exit();
