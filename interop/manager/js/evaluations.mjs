// Data sets and evaluations through our API, with flows and evaluators of the official
// runtime.

import assert from 'node:assert/strict';
import { until } from '../../reflection/js/tools.mjs';
import { allEvents } from './oxikit.mjs';

export const evaluationCases = (kit) => ({
  'evaluations: a flow on a data set': async () => {
    const data = [{ testCaseId: 'a', input: { name: 'Ada' } }, { testCaseId: 'b', input: { name: 5 } }];
    const made = await kit.post('/api/v1/datasets', { datasetId: 'names-1', datasetType: 'FLOW', data });
    assert.deepEqual([made.status, made.json.size], [200, 2]);
    const request = { dataSource: { datasetId: 'names-1' }, actionRef: '/flow/greet', evaluators: ['lengthEval'] };
    const key = (await kit.post('/api/v1/evaluations', request)).json;
    const { results } = (await kit.get(`/api/v1/evaluations/${key.evalRunId}`)).json;
    assert.deepEqual(results[0].output, { text: 'Hi Ada' });
    assert.equal(results[0].metrics[0].score, 17);
    assert.match(results[1].error, /INVALID_ARGUMENT/);
    const { status } = await kit.get(`/api/v1/traces/${results[0].traceIds[0]}`);
    assert.equal(status, 200);
    assert.equal((await kit.call('DELETE', '/api/v1/datasets/names-1', {})).status, 200);
  },
  'evaluations: how it goes is told': async () => {
    const data = ['A', 'B'].map((name) => ({ input: { name } }));
    const request = { dataSource: { data }, actionRef: '/flow/greet', evaluators: ['lengthEval'] };
    const events = await allEvents(await kit.fetch('POST', '/api/v1/evaluations/stream', request));
    assert.ok(events.filter(({ event }) => event === 'progress').length >= 2);
    assert.equal(events.at(-1).event, 'done');
    const { results } = (await kit.get(`/api/v1/evaluations/${events.at(-1).data.evalRunId}`)).json;
    assert.deepEqual(results.map(({ metrics }) => metrics[0].score), [15, 15]);
  },
  'evaluations: by the command line, also by Genkit\'s spelling': async () => {
    for (const spelling of [['eval', 'run'], ['eval:flow']]) {
      const { json } = await kit.succeed([...spelling, 'greet', '[{"name":"A"},{"name":"B"}]', '--evaluators', 'lengthEval', '--json']);
      assert.deepEqual([json.ok, json.figures.cases], [true, 2]);
      const shown = (await kit.succeed(['eval', 'show', json.evaluation.evalRunId, '--json'])).json;
      assert.deepEqual(shown.results.map(({ metrics }) => metrics[0].score), [15, 15]);
    }
    assert.equal((await kit.oxikit(['eval', 'run', 'greet', '[{"name":5}]', '--json'])).code, 1);
  },
  'evaluations: cases out of traces': async () => {
    await kit.run('/flow/greet', { name: 'Xenia' }, { telemetryLabels: { batchRun: 'cases' } });
    const cases = await until('a case', async () => {
      const { json } = await kit.get('/api/v1/evaluations/extract?flow=greet&label=cases');
      return json.cases.length > 0 && json.cases;
    }, 5_000);
    assert.deepEqual(cases.map(({ input, output }) => [input.name, output.text]), [['Xenia', 'Hi Xenia']]);
  },
});
