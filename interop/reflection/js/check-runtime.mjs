// Checks the runtime behind a tools API. It has to offer the actions of `app.mjs`.
// Prints `ok name` or `FAILED name: what came` for every check.
//
//   node check-runtime.mjs TOOLS_URL [TELEMETRY_URL] [--v1]

import http from 'node:http';

const args = process.argv.slice(2);
const v1 = args.includes('--v1');
const [tools, telemetry] = args.filter((arg) => !arg.startsWith('--'));

const LISTED = [
  '/flow/greet', '/flow/countdown', '/flow/bidiEcho', '/model/echo/model', '/tool/add', '/prompt/hello',
  '/executable-prompt/hello', '/evaluator/lengthEval', '/util/generate', '/agent/storeAgent',
  '/agent-snapshot/storeAgent', '/agent-abort/storeAgent', '/agent/clientAgent',
];

await checkIdentity();
await checkActions();
await checkValues();
const greetTrace = await checkUnary();
await checkStreams();
await checkErrors();
await checkCancel();
// Inputs cannot be streamed over HTTP.
if (!v1) {
  await checkBidi();
  await checkStoreAgent();
}
await checkClientAgent();
if (telemetry) await checkTrace(greetTrace);

async function checkIdentity() {
  const runtime = (await query('getCurrentRuntime')).result.data;
  check('runtime id is a string', typeof runtime.id === 'string', runtime);
  check('runtime pid is a number', typeof runtime.pid === 'number', runtime);
  check('reflectionApiSpecVersion is 1', runtime.reflectionApiSpecVersion === 1, runtime);
  check('genkitVersion is language/version', /^[a-z]+\/\S+$/.test(runtime.genkitVersion ?? ''), runtime);
}

async function checkActions() {
  const actions = (await query('listActions', {})).result?.data ?? {};
  for (const key of LISTED) {
    const action = actions[key];
    check(`lists ${key}`, action?.key === key && typeof action?.name === 'string', action);
  }
  const metadata = (key) => actions[key]?.metadata;
  check('greet has an input schema', actions['/flow/greet']?.inputSchema?.type === 'object', actions['/flow/greet']);
  check('bidi actions say so', metadata('/flow/bidiEcho')?.bidi === true, actions['/flow/bidiEcho']);
  for (const [name, side] of [['storeAgent', 'server'], ['clientAgent', 'client']]) {
    const agent = metadata(`/agent/${name}`)?.agent;
    check(`the state of ${name} is with the ${side}`, agent?.stateManagement === side, agent);
  }
}

async function checkValues() {
  const values = await query('listValues', { type: 'defaultModel' });
  check('default model', values.result?.data?.defaultModel?.name === 'echo/model', values);
  const refused = await query('listValues', { type: 'prompt' });
  check('listValues refuses other types', !!refused.error, refused);
}

async function checkUnary() {
  const greeted = await run({ key: '/flow/greet', input: { name: 'Ada' } });
  const traceId = greeted.json.telemetry?.traceId;
  check('unary result', greeted.json.result?.text === 'Hi Ada', greeted.json);
  check('trace id early and in the body', isHex(greeted.traceId, 32) && traceId === greeted.traceId, greeted);
  const known = await run({ key: '/flow/greet', input: { name: 'Ada' }, context: { auth: { uid: 'u' } } });
  check('context reaches the action', known.json.result?.text === 'Hi Ada (auth)', known.json);
  const nothing = await run({ key: '/flow/returnsNothing' });
  check('no result, or null, for nothing', nothing.json.result == null && !nothing.json.error, nothing.json);
  return traceId;
}

async function checkStreams() {
  const countdown = await stream({ key: '/flow/countdown', input: 3 });
  check('chunks then result', isSame(countdown.chunks, [3, 2, 1]) && countdown.last.result === 'liftoff', countdown);
  const said = await stream({ key: '/model/echo/model', input: { messages: [user('hi there')] } });
  const text = said.chunks.map((chunk) => chunk.content?.[0]?.text).join('').trim();
  check('model chunks', text === 'Echo: hi there' && said.last.result?.message?.role === 'model', said);
}

async function checkErrors() {
  const boom = (await run({ key: '/flow/boom', input: 1 })).json.error;
  check('error: INTERNAL with trace id', boom?.code === 13 && boom.message === 'kaboom' && isHex(boom.details?.traceId, 32), boom);
  const denied = (await run({ key: '/flow/denied', input: 1 })).json.error;
  check('error: the status is kept (PERMISSION_DENIED is 7)', denied?.code === 7, denied);
  const late = await stream({ key: '/flow/boomStream', input: 1 });
  check('error after a chunk', late.chunks[0] === 'one' && late.last.error?.code === 13, late);
  const refused = await run({ key: '/flow/greet', input: { name: 5 } });
  const isEarly = refused.status === 500 && !refused.traceId && !!refused.json.error;
  // The official V1 runtime says 13.
  check('bad input is refused before a trace starts', isEarly && (v1 || refused.json.error.code === 3), refused);
  const unknown = await run({ key: '/flow/nope', input: 1 });
  check('unknown action is an error', !!unknown.json.error && unknown.status === 500, unknown);
}

async function checkCancel() {
  const [run, known] = traced((onTrace) => stream({ key: '/flow/slow', input: 15_000 }, '', onTrace));
  const traceId = await known;
  await sleep(150);
  const answer = await mutate('cancelAction', { traceId });
  check('cancel is acknowledged', answer.result?.data?.message === 'Action cancelled', answer);
  const { error } = (await run).last;
  check('cancelled run ends with code 1', error?.code === 1 && error.message === 'Action was cancelled', error);
  const unknown = await mutate('cancelAction', { traceId: 'f'.repeat(32) });
  check('cancel of an unknown trace is an error', !!unknown.error, unknown);
}

async function checkBidi() {
  const echoed = await converse({ key: '/flow/bidiEcho', init: { prefix: '> ' } }, ['one', 'two']);
  check('bidi', isSame(echoed.chunks, ['> ONE', '> TWO']) && echoed.last.result?.count === 2, echoed);
}

async function checkStoreAgent() {
  const inputs = ['turn one', 'turn two'].map((text) => ({ message: user(text) }));
  const { chunks, last } = await converse({ key: '/agent/storeAgent', init: {} }, inputs);
  const turns = chunks.flatMap((chunk) => chunk.turnEnd ?? []);
  const isWhole = (turn) => turn.snapshotId && turn.finishReason === 'stop';
  check('agent: two turns, two snapshots', turns.length === 2 && turns.every(isWhole), turns);
  const { sessionId, snapshotId } = last.result ?? {};
  check('agent output names session and snapshot', !!sessionId && snapshotId === turns.at(-1)?.snapshotId, last);
  const stored = (await run({ key: '/agent-snapshot/storeAgent', input: { sessionId } })).json.result;
  check('latest snapshot of the session', stored?.status === 'completed' && stored.state?.messages?.length === 4, stored);
}

async function checkClientAgent() {
  const { chunks, last } = await stream({ key: '/agent/clientAgent', input: { message: user('hello') }, init: {} });
  const hasEnded = chunks.at(-1)?.turnEnd?.finishReason === 'stop';
  check('client agent returns its state', last.result?.state?.messages?.length === 2 && hasEnded, last);
  const missing = (await run({ key: '/agent-snapshot/storeAgent', input: { snapshotId: 'nope' } })).json.error;
  check('missing snapshot: NOT_FOUND is 5', missing?.code === 5, missing);
}

async function checkTrace(traceId) {
  await sleep(500);
  const { text } = await call('GET', `/api/traces/${traceId}`, undefined, undefined, telemetry);
  const trace = JSON.parse(text || 'null');
  const root = Object.values(trace?.spans ?? {}).find((span) => !span.parentSpanId);
  const has = (attributes) => Object.entries(attributes).every(([key, value]) => root?.attributes[key] === value);
  const isTimed = trace?.startTime > 0 && trace.endTime >= trace.startTime;
  check('trace has name and times', trace?.displayName === 'greet' && isTimed, trace);
  const attributes = {
    'genkit:type': 'action',
    'genkit:metadata:subtype': 'flow',
    'genkit:name': 'greet',
    'genkit:key': '/flow/greet',
    'genkit:path': '/{greet,t:flow}',
    'genkit:state': 'success',
    'genkit:isRoot': true,
  };
  check('root span attributes', has(attributes), root);
  const isText = has({ 'genkit:input': '{"name":"Ada"}', 'genkit:output': '{"text":"Hi Ada"}' });
  check('input and output are JSON text', isText, root);
  check('root status code 0', root?.status?.code === 0, root?.status);
}

function check(name, isGood, got) {
  console.log(isGood ? `ok ${name}` : `FAILED ${name}: ${JSON.stringify(got)?.slice(0, 600)}`);
  if (!isGood) process.exitCode = 1;
}

/** Runs with inputs that are sent once its trace is known. */
async function converse(body, inputs) {
  const [run, known] = traced((onTrace) => stream(body, '?bidi=true', onTrace));
  const traceId = await known;
  for (const chunk of inputs) await call('POST', '/api/sendBidiInput', { traceId, chunk });
  await call('POST', '/api/endBidiInput', { traceId });
  return run;
}

/** Starts something that tells a trace id, and answers it and the id. */
function traced(start) {
  let tell;
  const known = new Promise((resolve) => (tell = resolve));
  return [start(tell), known];
}

async function query(name, input) {
  const search = input ? `?input=${encodeURIComponent(JSON.stringify(input))}` : '';
  return JSON.parse((await call('GET', `/api/${name}${search}`)).text);
}

async function mutate(name, input) {
  return JSON.parse((await call('POST', `/api/${name}`, input)).text);
}

async function run(body) {
  const answer = await call('POST', '/api/runAction', body);
  return { ...answer, json: JSON.parse(answer.text) };
}

async function stream(body, search = '', onTrace) {
  const answer = await call('POST', `/api/streamAction${search}`, body, onTrace);
  const lines = answer.text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  return { ...answer, chunks: lines.slice(0, -1), last: lines.at(-1) };
}

function call(method, path, body, onTrace, origin = tools) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const request = http.request(origin + path, { method, headers }, (response) => {
      const traceId = response.headers['x-genkit-trace-id'];
      if (traceId) onTrace?.(traceId);
      let text = '';
      response.on('data', (data) => (text += data));
      response.on('end', () => resolve({ status: response.statusCode, traceId, text }));
    });
    request.setTimeout(20_000, () => request.destroy(new Error(`no answer to ${method} ${path}`)));
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function user(text) {
  return { role: 'user', content: [{ text }] };
}

function isHex(text, length) {
  return new RegExp(`^[0-9a-f]{${length}}$`).test(text ?? '');
}

function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
