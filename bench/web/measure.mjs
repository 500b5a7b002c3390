// Opens the page of the developer tools in Chromium and measures it:
// `node measure.mjs <what> <count> <page> <traces>`. Prints one line of JSON with the figures.
//
// `page` is the URL with the token in its fragment, `traces` the URL to which spans are posted.

import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(import.meta.dirname, '../../interop/package.json'));
const { chromium } = require('playwright-core');

const [what, count, page, traces] = process.argv.slice(2);
const PATIENCE = 60_000;
/** Time that a list is scrolled, in milliseconds. */
const SCROLL_TIME = 5_000;
/** Tasks of the page that take longer are counted, in milliseconds. */
const LONG_TASK = 200;
/** The flags that keep Chromium from connecting anywhere else. */
const FLAGS = '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: FLAGS.split(' ') });

/** A page of a new browser context, with an empty cache. */
async function newPage() {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const tab = await context.newPage();
  tab.setDefaultTimeout(PATIENCE);
  return tab;
}

/** The URL of a view. */
function view(path) {
  return `${page}${path}`;
}

/** Counts the compressed bytes of all answers. */
async function countBytes(tab) {
  const session = await tab.context().newCDPSession(tab);
  await session.send('Network.enable');
  const counted = { bytes: 0 };
  session.on('Network.loadingFinished', ({ encodedDataLength }) => (counted.bytes += encodedDataLength));
  return counted;
}

/** Durations of frames while `scroll` runs in the page, the 95th percentile in milliseconds. */
function framesWhile(tab, selector) {
  return tab.evaluate(
    async ([selector, time]) => {
      const box = document.querySelector(selector);
      const frames = [];
      const began = performance.now();
      let last = began;
      while (last - began < time) {
        box.scrollTop += 700;
        if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) box.scrollTop = 0;
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - last);
        last = now;
      }
      frames.sort((a, b) => a - b);
      return frames[Math.floor(frames.length * 0.95)];
    },
    [selector, SCROLL_TIME],
  );
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** A trace of so many spans in Genkit's form: groups of ten below the root. */
function traceOf(spans, traceId) {
  const start = Date.now() - spans;
  const span = (number, parent) => ({
    spanId: number.toString(16).padStart(16, '0'),
    traceId,
    ...(parent > 0 && { parentSpanId: parent.toString(16).padStart(16, '0') }),
    displayName: parent === 0 ? 'many' : `step ${number}`,
    startTime: start + number / 2,
    endTime: parent === 0 ? start + spans : start + number / 2 + 3,
    instrumentationLibrary: { name: 'bench' },
    spanKind: 'INTERNAL',
    attributes: {
      'genkit:name': parent === 0 ? 'many' : `step ${number}`,
      'genkit:type': parent === 0 ? 'action' : 'flowStep',
      ...(parent === 0 && { 'genkit:metadata:subtype': 'flow', 'genkit:isRoot': true }),
      'genkit:input': JSON.stringify({ number }),
      'genkit:output': JSON.stringify('done'),
      'genkit:state': 'success',
    },
  });
  const all = {};
  for (let number = 1; number <= spans; number += 1) {
    const parent = number === 1 ? 0 : number % 10 === 2 ? 1 : number - ((number - 2) % 10);
    const one = span(number, parent);
    all[one.spanId] = one;
  }
  return { traceId, displayName: 'many', startTime: start, endTime: start + spans, spans: all };
}

async function post(trace) {
  const response = await fetch(traces, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(trace),
  });
  if (!response.ok) throw new Error(`a trace was answered with ${response.status}: ${await response.text()}`);
}

const newId = () => crypto.randomUUID().replaceAll('-', '');

async function firstView() {
  const times = [];
  let kilobytes = 0;
  for (let round = 0; round < Number(count); round += 1) {
    const tab = await newPage();
    const counted = await countBytes(tab);
    const began = performance.now();
    await tab.goto(view('/'), { waitUntil: 'commit' });
    // The rail and the heading of the overview are there, with the state of the tools.
    await tab.getByRole('navigation').first().waitFor();
    await tab.getByRole('heading', { level: 1 }).waitFor();
    times.push(performance.now() - began);
    kilobytes = Math.max(kilobytes, counted.bytes / 1000);
    await tab.context().close();
  }
  return { usable_ms: median(times), compressed_kb: kilobytes };
}

async function million() {
  const tab = await newPage();
  const began = performance.now();
  await tab.goto(view('/traces'));
  const row = tab.getByRole('listbox').getByRole('option');
  await row.first().waitFor();
  const open = performance.now() - began;
  const frames = await framesWhile(tab, '[role=listbox]');
  const asked = performance.now();
  // As the filter of the page does it: the token is in the tab already.
  await tab.evaluate(() => (location.hash = '#/traces?q=number500000'));
  await tab.waitForFunction(() => document.querySelectorAll('[role=listbox] [role=option]').length === 1);
  return { open_ms: open, filter_ms: performance.now() - asked, frame_p95_ms: frames };
}

async function spans() {
  const traceId = newId();
  await post(traceOf(Number(count), traceId));
  const tab = await newPage();
  await tab.goto(view('/traces'));
  await tab.getByRole('listbox').getByRole('option').first().waitFor();
  const began = performance.now();
  await tab.evaluate((id) => (location.hash = `#/traces/${id}`), traceId);
  await tab.getByRole('treegrid').getByRole('row').nth(10).waitFor();
  const open = performance.now() - began;
  const scrolled = await tab.evaluate(() => {
    const grid = document.querySelector('[role=treegrid]');
    for (let box = grid; box; box = box.parentElement) {
      if (box.scrollHeight > box.clientHeight + 100) {
        box.dataset.scrolled = 'yes';
        return '[data-scrolled]';
      }
    }
    const inside = [...grid.querySelectorAll('*')].find((box) => box.scrollHeight > box.clientHeight + 100);
    inside.dataset.scrolled = 'yes';
    return '[data-scrolled]';
  });
  return { open_ms: open, frame_p95_ms: await framesWhile(tab, scrolled) };
}

async function live() {
  const tab = await newPage();
  const session = await tab.context().newCDPSession(tab);
  await session.send('HeapProfiler.enable');
  await tab.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await post(traceOf(10, newId()));
  await tab.goto(view('/traces'));
  await tab.getByRole('listbox').getByRole('option').first().waitFor();
  const heap = async () => {
    await session.send('HeapProfiler.collectGarbage');
    return (await session.send('Runtime.getHeapUsage')).usedSize;
  };
  const send = async (seconds) => {
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      const next = performance.now() + 100;
      await Promise.all(Array.from({ length: 10 }, () => post(traceOf(10, newId()))));
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
  };
  // Part of the load comes first: what is loaded once does not count as growth.
  await send(Math.min(10, Number(count) / 4));
  const before = await heap();
  await tab.evaluate(() => (globalThis.longTasks.length = 0));
  await send(Number(count));
  const tasks = await tab.evaluate(() => globalThis.longTasks);
  const longest = Math.max(0, ...tasks);
  return { long_tasks: tasks.filter((time) => time > LONG_TASK).length, longest_ms: longest, heap_times: (await heap()) / before };
}

const measurements = { 'first-view': firstView, million, spans, live };
try {
  console.log(JSON.stringify({ ...(await measurements[what]()), errors: 0 }));
} finally {
  await browser.close();
}
