// The recorded exchanges of the official tools' API, once more with ours: the same
// requests to the same application, and answers of the same shape.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { sleep, until } from '../../reflection/js/tools.mjs';

const recordings = path.join(import.meta.dirname, '../../../recordings/tools-api');

/** Where a run has another answer of ours, and why. */
const DIFFERENT = {
  // There the reason gets lost; ours says it.
  'run-unknown-action': isNotFound,
  'run-unknown-action-streaming': isNotFound,
  'run-bad-key': isNotFound,
  'run-unknown-runtime': isNotFound,
};
const DIFFERENT_V2 = { ...DIFFERENT, 'run-missing-key': saysWhy, 'run-bad-labels': saysWhy };
// There the action fails for want of an input; ours says that V1 has no streams of them.
const inputs = ['bidi', 'bidi-bad-chunk', 'bidi-cancel', 'agent-store-bidi', 'agent-empty-bidi'];
const DIFFERENT_V1 = { ...DIFFERENT, ...Object.fromEntries(inputs.map((name) => [name, needsV2])) };

/** Not compared: where in whose code something failed; and what V1 tells twice. */
const LEFT_OUT = ['stack', 'genkitVersion', 'genkitErrorMessage'];

export function recordedCases(kit) {
  const file = path.join(recordings, `run-exchanges.${kit.v1 ? 'v1' : 'v2'}-manager.jsonl`);
  const exchanges = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const groups = new Map();
  for (const exchange of exchanges) groups.set(exchange.name, [...(groups.get(exchange.name) ?? []), exchange]);
  // What a later one refers to is known from those before it.
  const same = new Same();
  const cases = [...groups].map(([name, group]) => [`recorded: ${name}`, () => replay(kit, name, group, same)]);
  return Object.fromEntries(cases);
}

/** Procedures that are not compared, and why. */
const NOT_COMPARED = [
  'deleteDataset', // The recorded body was no JSON.
  'spa-fallback', // There is no page yet.
  'restartAppProcess', // Nothing here has an effect by GET.
];

/** The procedures of the official server, which speaks tRPC. */
export function procedureCases(kit) {
  if (kit.v1) return {};
  const file = path.join(recordings, 'trpc-exchanges.jsonl');
  const exchanges = fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  const same = new Same({ ownWords: true });
  const compared = exchanges.filter(({ name }) => !NOT_COMPARED.includes(name));
  const cases = compared.map((exchange) => [`procedure: ${exchange.name}`, async () => {
    const { contentType, ...response } = exchange.response;
    const recorded = { ...exchange, response: { ...response, headers: { 'content-type': contentType } } };
    const { request } = exchange;
    const path = encodeURI(same.renamedText(request.path));
    const ours = await body(await send(kit, { request: { ...request, path } }, same));
    compare(kit, exchange.name, recorded, ours, same);
  }]);
  return { 'procedure: a run before all': () => newestRun(kit), ...Object.fromEntries(cases) };
}

/** What the recorded lists begin with. */
async function newestRun(kit) {
  const { traceId } = await kit.run('/flow/greet', { name: 'T' });
  await until('its trace and its line', async () => {
    const { json } = await kit.get(`/api/v1/traces/${traceId}`);
    const { logs } = (await kit.get(`/api/v1/logs?traceId=${traceId}`)).json;
    return json.spans?.length === 2 && json.trace.status === 'success' && logs.length > 0;
  });
}

/** One run that the others of its group are about, and those others meanwhile. */
async function replay(kit, name, group, same) {
  const traceOf = ({ response }) => response.headers['x-genkit-trace-id'];
  const about = new Set(group.map(({ request }) => request.body?.traceId).filter(Boolean));
  const main = group.find((exchange) => about.has(traceOf(exchange)));
  const answer = main && send(kit, main, same);
  if (main) same.is(traceOf(main), (await answer).traceId);
  for (const exchange of group) {
    if (exchange === main) continue;
    // Nobody is there any more: what was sent before has to arrive, and end it.
    if (exchange.response.status === 404) await sleep(300);
    compare(kit, name, exchange, await body(await send(kit, exchange, same)), same);
  }
  if (main) compare(kit, name, main, await body(await answer), same);
}

async function send(kit, { request }, same) {
  const { method, path, body } = request;
  const response = await kit.fetch(method, path, body && same.renamed(body));
  const { status, headers } = response;
  return { response, status, type: headers.get('content-type'), traceId: headers.get('x-genkit-trace-id') };
}

async function body(answer) {
  return { ...answer, text: await answer.response.text() };
}

function compare(kit, name, { request, response }, ours, same) {
  const different = (kit.v1 ? DIFFERENT_V1 : DIFFERENT_V2)[name];
  if (different && /^\/api\/(run|stream)Action/.test(request.path)) return different(ours);
  assert.equal(ours.status, response.status, `${request.path}: ${ours.text}`);
  assert.equal(!!ours.traceId, !!response.headers['x-genkit-trace-id'], 'the header with the trace');
  if (response.text !== undefined) return assert.equal(ours.text, response.text);
  assert.equal(ours.type.split(';')[0], response.headers['content-type'].split(';')[0]);
  const lines = response.lines ? ours.text.split('\n') : [ours.text];
  const theirs = response.lines ?? [response.body];
  same.compare(theirs, lines.map((line) => JSON.parse(line)), request.path);
}

function isNotFound({ text }) {
  const { error } = JSON.parse(text);
  assert.equal(error.code, 5);
  assert.match(error.message, /nope|nobody/);
}

function needsV2({ text }) {
  const { error } = JSON.parse(text);
  assert.equal(error.code, 9);
  assert.match(error.message, /Reflection V1/);
}

function saysWhy({ text }) {
  const { error } = JSON.parse(text);
  assert.equal(typeof error.code, 'number');
  assert.ok(error.message);
}

/** Made anew by every run: the same kind of text in the same places is the same. */
const FRESH = [/^[0-9a-f]{32}$/, /^[0-9a-f]{16}$/, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/];

/** Of the moment, or of the machine: only the type is compared. */
const OF_NOW = /^(id|pid|timestamp|createTime|updateTime|reflectionServerUrl|projectName|startTime|endTime|latencyMs)$/;

class Same {
  ours = new Map();

  /**
   * `ownWords`: messages say the same in other words, and pages may go on. The average
   * is one of lengths, also of a text with the time it took; each score is compared.
   */
  constructor({ ownWords = false } = {}) {
    this.leftOut = ownWords ? [...LEFT_OUT, 'continuationToken'] : LEFT_OUT;
    this.ofNow = (key) => OF_NOW.test(key) || (ownWords && ['message', 'averageScore'].includes(key));
  }

  is(theirs, ours) {
    this.ours.set(theirs, ours);
  }

  /** A recorded value with our names in it. */
  renamed(value) {
    return JSON.parse(JSON.stringify(value), (_, text) => this.ours.get(text) ?? text);
  }

  renamedText(text) {
    return [...this.ours].reduce((text, [theirs, ours]) => text.replaceAll(theirs, ours), text);
  }

  compare(theirs, ours, where) {
    if (typeof theirs === 'string') return this.compareText(theirs, ours, where);
    if (typeof theirs !== 'object' || theirs === null) return assert.deepEqual(ours, theirs, where);
    assert.equal(typeof ours, 'object', where);
    assert.equal(Array.isArray(ours), Array.isArray(theirs), where);
    if (where.endsWith(' spans')) [theirs, ours] = [byName(theirs), byName(ours)];
    // An empty text is as good as none.
    const isCompared = ([key, value]) => value !== '' && !this.leftOut.includes(key);
    const keys = (value) => Object.entries(value).filter(isCompared).map(([key]) => key).sort();
    assert.deepEqual(keys(ours), keys(theirs), where);
    for (const key of keys(theirs)) {
      if (this.ofNow(key)) assert.equal(typeof ours[key], typeof theirs[key], `${where} ${key}`);
      else this.compare(theirs[key], ours[key], `${where} ${key}`);
    }
  }

  compareText(theirs, ours, where) {
    // Only that manager says so, before the words of the runtime.
    theirs = theirs.replace(/^Bad request: /, '');
    const kind = FRESH.find((pattern) => pattern.test(theirs));
    if (!kind || ours === theirs) return assert.equal(ours, theirs, where);
    assert.match(ours, kind, where);
    // Two moments may be one.
    if (kind === FRESH.at(-1)) return;
    assert.equal(this.ours.get(theirs) ?? ours, ours, where);
    this.is(theirs, ours);
  }
}

/** Spans stand under their ids, which are others every time. */
function byName(spans) {
  return Object.values(spans).sort((one, other) => one.displayName.localeCompare(other.displayName));
}
