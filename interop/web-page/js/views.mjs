// Every view, light and dark: a picture of each, and no violation that axe finds.

import { accessible, picture, run, until } from '../../prompts-page/js/harness.mjs';
import { call, demo, enter, go, runAction, turn } from './tools.mjs';

const server = await demo({
  'riddle.prompt': '---\ndescription: A riddle\n---\nTell a riddle about {{topic}}.\n',
  'fragments/tone.md': 'Be kind.',
}, 'tea-shop');
await runAction(server, '/flow/hello', 'Ada');
await runAction(server, '/flow/broken', 'x');
await runAction(server, '/flow/umbrella', 'Oslo');
const first = await turn(server, 'teashop', 'please order "green tea"');
const waiting = await turn(server, 'teashop', 'please pay 12');
await call(server, 'POST', '/api/v1/datasets', {
  datasetId: 'greetings',
  data: [{ input: 'Ada', reference: 'Hello, Ada.' }, { input: 'Bo' }],
  targetAction: '/flow/hello',
  datasetType: 'FLOW',
});
for (let at = 0; at < 2; at += 1) {
  await call(server, 'POST', '/api/v1/evaluations', {
    dataSource: { datasetId: 'greetings' },
    actionRef: '/flow/hello',
  });
}
const { traces } = await call(server, 'GET', '/api/v1/traces');
const { spans } = await call(server, 'GET', `/api/v1/traces/${traces.findLast(({ name }) => name === 'teashop').traceId}`);
const modelSpan = spans.map(({ span }) => span).findLast(({ attributes }) => attributes['genkit:metadata:subtype'] === 'model');
const idOf = (name) => traces.find((trace) => trace.name === name).traceId;
const { evaluations } = await call(server, 'GET', '/api/v1/evaluations');

/** Places, and what is shown when each has its data. */
const VIEWS = {
  overview: ['', 'main section'],
  actions: ['actions', '[role=option]'],
  action: ['actions/flow/hello', 'main h1'],
  'action-json': ['actions/flow/hello?as=json', 'main h1'],
  model: ['actions/model/offline/demo', 'main h1'],
  sessions: ['sessions', '[role=option]'],
  session: [`sessions/teashop/${first.sessionId}`, 'main h1'],
  'session-waits': [`sessions/teashop/${waiting.sessionId}`, 'main h1'],
  traces: ['traces', '[role=option]'],
  trace: [`traces/${idOf('umbrella')}`, '[role=treegrid]'],
  'trace-span': [`traces/${modelSpan.traceId}?span=${modelSpan.spanId}`, '[role=tab]'],
  'trace-failed': [`traces/${idOf('broken')}`, '[role=treegrid]'],
  'traces-compared': [`traces/${idOf('hello')}/vs/${idOf('umbrella')}`, 'main h1'],
  datasets: ['datasets', 'main h1'],
  dataset: ['datasets/greetings', 'main h1'],
  evaluations: ['evals', 'main h1'],
  evaluation: [`evals/${evaluations[0].evalRunId}`, 'main h1'],
  'evaluations-compared': [`evals/${evaluations[0].evalRunId}/vs/${evaluations[1].evalRunId}`, 'main h1'],
  prompts: ['prompts', '[role=option]'],
  prompt: ['prompts/riddle', '.messages'],
  a2a: ['a2a', 'main h1'],
};

const cases = {};
for (const theme of ['light', 'dark']) {
  for (const [name, [place, content]] of Object.entries(VIEWS)) {
    cases[`views: ${name}, ${theme}`] = async () => {
      const page = await enter(server, '', { dark: theme === 'dark' });
      await go(page, server, place);
      await page.locator(content).first().waitFor();
      await until('the data', async () => (await page.locator('.skeleton:visible, [aria-busy=true]').count()) === 0);
      await picture(page, `${name}-${theme}`);
      await accessible(page, `${name}, ${theme}`);
    };
  }
}
await run(cases);
