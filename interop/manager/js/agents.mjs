// Turns and sessions of agents through our API.

import assert from 'node:assert/strict';
import { until } from '../../reflection/js/tools.mjs';
import { HEX32, user } from './cases.mjs';
import { allEvents } from './oxikit.mjs';

export const agentCases = (kit) => ({
  'agents: list and details': async () => {
    const { agents } = (await kit.get('/api/agents')).json;
    assert.deepEqual(Object.keys(agents).sort(), ['askingAgent', 'clientAgent', 'customAgent', 'storeAgent']);
    assert.deepEqual([agents.storeAgent.hasStore, agents.clientAgent.hasStore], [true, false]);
    const details = (await kit.get('/api/agents/storeAgent')).json;
    assert.equal(details.description, 'agent with a server side store');
    assert.ok(details.inputSchema.properties.message);
    assert.equal((await kit.get('/api/agents/nobody')).status, 404);
  },
  'agents: turns of a session that the agent keeps': async () => {
    const first = await turn(kit, 'storeAgent', { input: 'one' });
    const { sessionId, snapshotId, finishReason, messages } = first.json.result;
    assert.deepEqual([finishReason, texts(messages)], ['stop', ['one', 'Echo: one']]);
    assert.match(first.traceId, HEX32);
    assert.equal(first.json.telemetry.traceId, first.traceId);
    // Its span may still be on its way.
    assert.match(first.json.telemetry.spanId, /^([0-9a-f]{16})?$/);
    const second = (await turn(kit, 'storeAgent', { input: user('two'), init: { sessionId } })).json.result;
    assert.deepEqual(texts(second.messages), ['one', 'Echo: one', 'two', 'Echo: two']);
    const fork = (await turn(kit, 'storeAgent', { input: 'other', init: { snapshotId } })).json.result;
    assert.deepEqual(texts(fork.messages), ['one', 'Echo: one', 'other', 'Echo: other']);
  },
  'agents: a session is shown': async () => {
    const { sessionId, snapshotId } = (await turn(kit, 'storeAgent', { input: 'one' })).json.result;
    const { json } = await kit.get(`/api/agents/storeAgent/sessions/${sessionId}`);
    assert.deepEqual([json.sessionId, json.snapshotId, json.status], [sessionId, snapshotId, 'completed']);
    assert.deepEqual(texts(json.threads.main), ['one', 'Echo: one']);
    assert.equal((await kit.get('/api/agents/storeAgent/sessions/nope')).status, 404);
    const none = await kit.get('/api/agents/clientAgent/sessions/nope');
    assert.deepEqual([none.status, none.json.status], [400, 'FAILED_PRECONDITION']);
  },
  'agents: sessions are listed as far as the traces tell': async () => {
    const { sessionId } = (await turn(kit, 'storeAgent', { input: 'list me' })).json.result;
    await until('the session', async () => {
      const { sessions, source } = (await kit.get('/api/agents/storeAgent/sessions?limit=200')).json;
      return source === 'traces' && sessions.some((session) => session.sessionId === sessionId);
    }, 5_000);
    const listed = (await kit.succeed(['session', 'list', 'storeAgent', '--limit', '200', '--json'])).json;
    assert.ok(listed.sessions.some((session) => session.sessionId === sessionId));
    const session = ['storeAgent', sessionId, '--json'];
    for (const command of [['fork', ...session], ['delete', ...session, '--yes']]) {
      const { code, json } = await kit.oxikit(['session', ...command]);
      assert.deepEqual([code, json.error.status], [1, 'FAILED_PRECONDITION']);
    }
  },
  'agents: a turn as events': async () => {
    const answer = await kit.fetch('POST', '/api/agents/customAgent/execute', { input: 'note this', stream: true });
    const events = await allEvents(answer);
    const names = events.map(({ event }) => event);
    assert.deepEqual(names, ['stateUpdate', 'chunk', 'artifact', 'turnEnd', 'done', 'telemetry']);
    const data = Object.fromEntries(events.map(({ event, data }) => [event, data]));
    assert.deepEqual(data.stateUpdate.stateUpdate, { turns: 1 });
    assert.equal(data.chunk.chunk.content[0].text, 'ack note this');
    assert.equal(data.artifact.artifact.name, 'note');
    assert.deepEqual(data.done.state, { turns: 1 });
    assert.equal(data.telemetry.traceId, answer.headers.get('x-genkit-trace-id'));
  },
  'agents: a state that the client keeps': async () => {
    const first = (await turn(kit, 'clientAgent', { input: 'one' })).json.result;
    const second = (await turn(kit, 'clientAgent', { input: 'two', init: first })).json.result;
    assert.deepEqual(texts(second.messages), ['one', 'Echo: one', 'two', 'Echo: two']);
  },
  'agents: a turn that fails is a result that says so': async () => {
    const { status, json } = await turn(kit, 'customAgent', { input: 'fail' });
    assert.deepEqual([status, json.result.finishReason], [200, 'failed']);
    assert.equal(json.result.error.message, 'turn failed');
    const wrong = await turn(kit, 'storeAgent', { input: 'x', init: { state: { messages: [] } } });
    assert.deepEqual([wrong.status, wrong.json.status], [400, 'FAILED_PRECONDITION']);
  },
  'agents: a tool asks back, and goes on with the answer': async () => {
    const asked = (await turn(kit, 'askingAgent', { input: 'do it' })).json.result;
    assert.equal(asked.finishReason, 'interrupted');
    const request = asked.message.content.find((part) => part.toolRequest);
    assert.deepEqual(request.toolRequest.input, { question: 'really?' });
    const { name, ref } = request.toolRequest;
    const resume = { respond: [{ toolResponse: { name, ref, output: 'yes' } }] };
    const init = { sessionId: asked.sessionId };
    const done = (await turn(kit, 'askingAgent', { input: { resume }, init })).json.result;
    assert.deepEqual([done.finishReason, done.message.content[0].text], ['stop', 'you said yes']);
  },
  'agents: detach, and abort': async () => {
    const input = { message: user('sleep 15000'), detach: true };
    const { json } = await turn(kit, 'customAgent', { input });
    const { sessionId, finishReason } = json.result;
    assert.equal(finishReason, 'detached');
    const session = `/api/agents/customAgent/sessions/${sessionId}`;
    const pending = (await kit.get(session)).json;
    assert.deepEqual([pending.status, pending.snapshotStatus], ['active', 'pending']);
    const aborted = await kit.post(`${session}/abort`);
    assert.deepEqual([aborted.status, aborted.json.aborted], [200, [pending.snapshotId]]);
    await until('its end', async () => (await kit.get(session)).json.snapshotStatus === 'aborted', 3_000);
  },
  'agents: detached work is done without its caller': async () => {
    const input = { message: user('sleep 200'), detach: true };
    const { snapshotId } = (await turn(kit, 'customAgent', { input })).json.result;
    // The official store does not find it by its session any more.
    const done = await until('its end', async () => {
      const { result } = (await kit.run('/agent-snapshot/customAgent', { snapshotId })).json;
      return result.status === 'completed' && result;
    }, 5_000);
    assert.equal(done.state.messages.at(-1).content[0].text, 'ack sleep 200');
  },
});

function turn(kit, agent, body) {
  return kit.post(`/api/agents/${agent}/execute`, body);
}

const texts = (messages) => messages.map((message) => message.content[0].text);
