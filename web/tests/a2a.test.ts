import assert from 'node:assert/strict';
import { test } from 'node:test';

import { readCard } from '../src/a2a/card';
import { jsonOf, withStep } from '../src/a2a/exchange';
import { followed, isOver, NOTHING, shownParts, stateName, stateTone } from '../src/a2a/tasks';

test('a card of version 1.0 is readable', () => {
  const card = readCard({
    name: 'Coder',
    description: 'Writes code',
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    skills: [{ id: 'sort', name: 'Sort', tags: ['list'], examples: ['Sort a list'] }],
    securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
  });
  assert.deepEqual(card.capabilities, [{ name: 'streaming', isOn: true }, { name: 'pushNotifications', isOn: false }]);
  assert.deepEqual(card.skills[0]?.examples, ['Sort a list']);
  assert.deepEqual(card.security, [{ name: 'key', about: 'apiKey, header X-API-Key' }]);
});

test('a card of version 0.3 has its security scheme', () => {
  const card = readCard({ securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } });
  assert.deepEqual(card.security, [{ name: 'bearer', about: 'http, bearer' }]);
});

test('a broken card is shown without its broken members', () => {
  for (const broken of [null, 7, [], { name: 3, skills: 'x', capabilities: null, securitySchemes: [1] }, { skills: [null, 3] }]) {
    assert.equal(readCard(broken).name, '');
  }
});

test('updates become the states and artifacts of a task', () => {
  let state = followed(NOTHING, { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } } });
  state = followed(state, { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING' } } });
  state = followed(state, { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_WORKING' } } });
  state = followed(state, { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: 'Hel' }] } } });
  state = followed(state, { artifactUpdate: { taskId: 't', append: true, artifact: { artifactId: 'a', parts: [{ text: 'lo' }] } } });
  state = followed(state, { statusUpdate: { taskId: 't', status: { state: 'TASK_STATE_COMPLETED' } } });
  assert.deepEqual(state.states.map((one) => stateName(one.state)), ['submitted', 'working', 'completed']);
  assert.deepEqual(shownParts(state.task?.artifacts?.[0]?.parts), [{ text: 'Hello' }]);
  assert.equal(state.contextId, 'c');
});

test('an artifact that is not appended replaces the earlier one', () => {
  let state = followed(NOTHING, { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: '1' }] } } });
  state = followed(state, { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: '2' }] } } });
  assert.deepEqual(state.task?.artifacts?.map(({ parts }) => parts?.[0]?.text), ['2']);
});

test('states of both versions have a name and a tone', () => {
  assert.equal(stateName('input-required'), 'input required');
  assert.equal(stateTone('TASK_STATE_INPUT_REQUIRED'), 'wait');
  assert.equal(isOver('TASK_STATE_CANCELLED'), true);
  assert.equal(isOver('TASK_STATE_AUTH_REQUIRED'), false);
});

test('bytes are shown from their own URL', () => {
  assert.deepEqual(shownParts([{ raw: 'AAAA', mediaType: 'image/png' }]), [
    { media: { url: 'data:image/png;base64,AAAA', contentType: 'image/png' } },
  ]);
});

test('a response belongs to the request before it', () => {
  let calls = withStep([], { step: 'request', method: 'POST', url: 'http://a', text: '{"id":1}' });
  calls = withStep(calls, { step: 'response', http: 200, headers: [['content-type', 'text/event-stream']] });
  calls = withStep(calls, { step: 'body', text: 'data: {"a":1}\n\n' });
  calls = withStep(calls, { step: 'body', text: 'data: {"a":2}\n\n' });
  assert.equal(calls.length, 1);
  assert.equal(calls[0]?.response?.http, '200');
  assert.deepEqual(jsonOf(calls[0]?.response?.body ?? ''), [{ a: 1 }, { a: 2 }]);
  assert.equal(jsonOf('not json'), null);
});
