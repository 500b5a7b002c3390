// The page `/docs` of a server in a browser: `node cases.mjs <url> <key>`. Prints `ok name`
// or `FAILED name: why` for each case.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [url, key] = process.argv.slice(2);
const headers = { authorization: `Bearer ${key}` };
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const profile = await mkdtemp(join(tmpdir(), 'oxikit-docs-page-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  headless: true,
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
  extraHTTPHeaders: headers,
});

// The page after it has loaded, and all that went wrong in it.
async function open(context = browser) {
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(`page: ${error.message}`));
  page.on('requestfailed', (request) => errors.push(`request: ${request.url()}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) errors.push(`console: ${message.text()}`);
  });
  const response = await page.goto(`${url}/docs`);
  await page.waitForFunction(() => !document.getElementById('actions').textContent.startsWith('Loading'));
  return { page, errors, status: response.status() };
}

// All operations of the document, as the page names them.
async function documented() {
  const answer = await fetch(`${url}/openapi.json`, { headers });
  const api = await answer.json();
  return Object.entries(api.paths)
    .flatMap(([path, item]) => METHODS.filter((m) => item[m]).map((m) => `${m.toUpperCase()} ${path}`));
}

const cases = {
  'docs: all operations of the document are listed, without an error': async () => {
    const { page, errors, status } = await open();
    assert.equal(status, 200);
    const names = await documented();
    assert.ok(names.includes('POST /order'), `a flow: ${names}`);
    assert.ok(names.includes('GET /api/agents'), `the API of agents: ${names}`);
    assert.deepEqual(await page.locator('details > summary > code').allTextContents(), names);
    assert.deepEqual(errors, []);
  },

  'docs: every operation opens and says how it is called': async () => {
    const { page, errors } = await open();
    const shown = await page.locator('details').all();
    for (const operation of shown) {
      await operation.locator('summary').click();
      assert.ok(await operation.getByText('Call', { exact: true }).isVisible());
      const call = await operation.locator('pre').first().textContent();
      const [method, path] = (await operation.locator('code').first().textContent()).split(' ');
      assert.ok(call.includes(`${url}${path}`), call);
      assert.ok(call.includes('authorization: Bearer'), `the key: ${call}`);
      assert.equal(call.includes('-X DELETE'), method === 'DELETE', call);
    }
    const order = page.locator('details', { hasText: 'POST /order' });
    assert.match(await order.textContent(), /Input, under data.*"tea"/s);
    assert.deepEqual(errors, []);
  },

  'docs: the filter leaves what was asked for': async () => {
    const { page, errors } = await open();
    await page.fill('#filter', 'sessions');
    const names = (await documented()).filter((name) => name.includes('sessions'));
    const visible = page.locator('details:visible > summary > code');
    assert.deepEqual(await visible.allTextContents(), names);
    assert.deepEqual(errors, []);
  },

  'docs: a page of the server may call a flow': async () => {
    const { page, errors } = await open();
    const called = await page.evaluate(async () => {
      const answer = await fetch('words', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ data: 'one two three' }),
      });
      return answer.json();
    });
    assert.deepEqual(called, { result: 3 });
    assert.deepEqual(errors, []);
  },

  'docs: without the key there is no page': async () => {
    await browser.setExtraHTTPHeaders({});
    const page = await browser.newPage();
    const response = await page.goto(`${url}/docs`);
    await browser.setExtraHTTPHeaders(headers);
    assert.equal(response.status(), 401);
    assert.equal(await page.locator('#actions').count(), 0);
  },
};

let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.message.replaceAll('\n', ' ')}`);
    console.error(error);
  }
}
await browser.close();
await rm(profile, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;
