// The official JS client of A2A 0.3 drives the research studio. Prints `ok name` or
// `FAILED name: why` for every case.
//
//   node cases.mjs PROGRAM   (the program of the studio)

import assert from 'node:assert/strict';
import { A2AClient } from 'a2a-js-0.3.14/client';
import { startStudio, stopAll, stuckSearch } from './studio.mjs';

const QUESTION = 'Are home batteries worth their price?';
const connect = ({ url }) => A2AClient.fromCardUrl(`${url}/.well-known/agent-card.json`);
const client = await connect(await startStudio());

const message = (text, task) => ({
  message: {
    kind: 'message',
    messageId: crypto.randomUUID(),
    role: 'user',
    parts: [{ kind: 'text', text }],
    ...(task && { taskId: task.id, contextId: task.contextId }),
  },
});

const said = (status) => (status.message?.parts ?? []).map((part) => part.text).join('');

/** The answer to a message, as a task. */
async function send(text, task, configuration) {
  const answer = await client.sendMessage({ ...message(text, task), configuration });
  assert.ok(answer.result, JSON.stringify(answer));
  return answer.result;
}

const report = (task) => {
  const artifact = task.artifacts.find(({ name }) => name === 'report');
  return artifact.parts.find(({ kind }) => kind === 'data').data;
};

const cases = {
  'the card': async () => {
    const card = await client.getAgentCard();
    assert.equal(card.protocolVersion, '0.3.0');
    assert.equal(card.name, 'Orchestrator');
    assert.equal(card.capabilities.streaming, true);
    assert.deepEqual(card.skills[0].tags, ['research', 'report', 'orchestration']);
  },

  'a report with citations': async () => {
    const task = await send(QUESTION);
    assert.equal(task.status.state, 'completed');
    const { citations, markdown, notes } = report(task);
    assert.deepEqual(notes, []);
    assert.ok(citations.length >= 5, `${citations.length} citations`);
    for (const { number } of citations) assert.equal(typeof number, 'number');
    assert.match(markdown, /\[1\]/);
    assert.match(markdown, /## Sources/);
    for (const kind of ['home-batteries', 'paper-lfp-ageing', 'news-prices'])
      assert.ok(citations.some(({ url }) => url?.endsWith(kind)), kind);
  },

  'progress, chunks and the report in a stream': async () => {
    const progress = [];
    const artifacts = new Map();
    let last;
    for await (const event of client.sendMessageStream(message(QUESTION))) {
      if (event.kind === 'status-update') {
        progress.push(said(event.status));
        last = event;
      }
      if (event.kind === 'artifact-update') {
        const { name, parts } = event.artifact;
        const text = parts.map((part) => part.text ?? part.data.markdown ?? '').join('');
        artifacts.set(name, (event.append ? artifacts.get(name) : '') + text);
      }
    }
    assert.equal(last.status.state, 'completed');
    assert.equal(last.final, true);
    assert.ok(progress.includes('Web research: searching the web'), progress.join('; '));
    assert.ok(progress.includes('Data analysis: analysing 6 series'), progress.join('; '));
    assert.deepEqual([...artifacts.keys()].sort(), ['answer', 'plan', 'report']);
    assert.equal(artifacts.get('answer'), artifacts.get('report'));
  },

  'a question back and its answer': async () => {
    const asked = await send('Batteries');
    assert.equal(asked.status.state, 'input-required');
    assert.equal(said(asked.status), 'What exactly do you want to know about it?');
    const task = await send('price at home', asked);
    assert.equal(task.status.state, 'completed');
    assert.equal(report(task).question, 'Batteries price at home');
  },

  'an agent that is killed at work is replaced': async () => {
    const search = await stuckSearch();
    const agent = await startStudio(['--only', 'webResearch', '--port', '0'], {
      STUDIO_SEARCH_URL: search.url,
    });
    const studio = await startStudio([], { STUDIO_AGENTS: `webResearch=${agent.url}` });
    const orchestrator = await connect(studio);
    const answer = orchestrator.sendMessage(message(QUESTION));
    await search.asked;
    agent.process.kill('SIGKILL');
    const { result } = await answer;
    assert.equal(result.status.state, 'completed');
    const { citations, notes } = report(result);
    const note = 'Web research could not be reached; News research took its step.';
    assert.deepEqual(notes, [note]);
    assert.ok(citations.length >= 4, `${citations.length} citations`);
  },

  'a task that has ended cannot be canceled': async () => {
    const task = await send(QUESTION);
    const answer = await client.cancelTask({ id: task.id });
    assert.equal(answer.error?.code, -32002, JSON.stringify(answer));
  },
};

let failed = false;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed = true;
    console.log(`FAILED ${name}: ${String(error.message).replaceAll('\n', ' ')}`);
  }
}
stopAll();
process.exit(failed ? 1 : 0);
