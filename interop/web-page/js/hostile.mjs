// An application of the official SDK that is full of markup and odd schemas.

import assert from 'node:assert/strict';

import { once } from 'node:events';
import { createServer } from 'node:http';

import { accessible, atEnd, picture, run } from '../../prompts-page/js/harness.mjs';
import { PAYLOAD } from './payload.mjs';
import { call, enter, odd, runAction } from './tools.mjs';

const server = await odd({ 'planted.prompt': `---\ndescription: '${PAYLOAD}'\n---\n${PAYLOAD} {{${'topic'}}}\n` });
await runAction(server, '/flow/echo', { text: PAYLOAD });
await runAction(server, '/flow/fails', PAYLOAD);

/** Nothing of what was shown became an element or ran. */
async function harmless(page) {
  assert.equal(await page.evaluate(() => window.executed), undefined);
  const planted = page.locator('img[src=x], script:not([src])');
  assert.equal(await planted.count(), 0);
}

/** A server of an agent whose card and answers are markup, and have everything twice. */
async function hostileAgent() {
  const part = { text: PAYLOAD };
  const artifact = { artifactId: PAYLOAD, name: PAYLOAD, description: PAYLOAD, parts: [part, part] };
  const status = { state: 'TASK_STATE_COMPLETED', timestamp: PAYLOAD, message: { messageId: '1', role: 'ROLE_AGENT', parts: [part] } };
  const task = { id: PAYLOAD, contextId: PAYLOAD, status, artifacts: [artifact, artifact], history: [] };
  const skill = { id: PAYLOAD, name: PAYLOAD, description: PAYLOAD, tags: [PAYLOAD, PAYLOAD], examples: [PAYLOAD, PAYLOAD] };
  const agent = createServer(async (request, response) => {
    const url = `http://${request.headers.host}/agent`;
    const card = {
      name: PAYLOAD,
      description: PAYLOAD,
      version: PAYLOAD,
      provider: { organization: PAYLOAD, url: `javascript:${PAYLOAD}` },
      documentationUrl: 'javascript:window.executed=1',
      iconUrl: 'http://192.0.2.1/icon.png',
      capabilities: { streaming: false },
      skills: [skill, skill],
      supportedInterfaces: [1, 2].map(() => ({ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' })),
      defaultInputModes: [PAYLOAD, PAYLOAD],
      defaultOutputModes: [PAYLOAD, PAYLOAD],
    };
    let body = '';
    for await (const chunk of request) body += chunk;
    const result = { jsonrpc: '2.0', id: body ? JSON.parse(body).id : 1, result: { task } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(request.method === 'GET' ? card : result));
  });
  agent.listen(0, '127.0.0.1');
  await once(agent, 'listening');
  atEnd(() => agent.close());
  return `http://127.0.0.1:${agent.address().port}`;
}

await run({
  'hostile: the card, the task and the artifacts of an agent are shown and not run, also if all is there twice': async () => {
    const page = await enter(server, 'a2a');
    await page.getByRole('textbox').first().fill(await hostileAgent());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1 }).filter({ hasText: 'onerror' }).waitFor();
    await picture(page, 'hostile-card');
    await harmless(page);
    assert.equal(await page.locator('a[href^="javascript:"]').count(), 0);
    await page.getByLabel('Message', { exact: true }).fill(PAYLOAD);
    await page.keyboard.press('Control+Enter');
    await page.getByText(/completed/i).first().waitFor();
    await picture(page, 'hostile-task');
    await harmless(page);
  },

  'hostile: markup in the text of a prompt is edited and rendered as text': async () => {
    const page = await enter(server, 'prompts/planted');
    await page.getByLabel('Text of planted', { exact: true }).waitFor();
    await page.locator('.messages').getByText(/onerror/).first().waitFor();
    await picture(page, 'hostile-prompt');
    await harmless(page);
  },

  'hostile: markup in names, inputs, outputs, errors and log lines is shown and not run': async () => {
    const page = await enter(server);
    await page.getByText(/is the reason/).first().waitFor();
    await page.getByRole('log').getByText(/was the input/).first().waitFor();
    await picture(page, 'hostile-overview');
    await harmless(page);
    const { traces } = await call(server, 'GET', '/api/v1/traces');
    for (const { traceId } of traces) {
      await page.goto(`${server.url}/#/traces/${traceId}`);
      await page.getByRole('treegrid').waitFor();
      await harmless(page);
    }
    await picture(page, 'hostile-trace');
    await page.goto(`${server.url}/#/actions`);
    await page.getByRole('option', { name: /onerror/ }).first().click();
    await page.locator('main').getByRole('button', { name: /^Run/ }).first().click();
    await page.getByText(/ended after/).first().waitFor();
    await picture(page, 'hostile-action');
    await harmless(page);
  },

  'hostile: a broken, a recursive and a nullable schema are no dead ends': async () => {
    for (const [key, input] of [['/tool/broken', '{"any":1}'], ['/tool/recursive', '{"value":"a"}'], ['/flow/odd', '{"name":null,"size":null}']]) {
      const page = await enter(server, `actions${key}`);
      await page.locator('main h1').first().waitFor();
      await page.getByRole('button', { name: 'JSON', exact: true }).first().click();
      await page.getByLabel(/^Input of .* as JSON$/).click();
      await page.keyboard.press('Control+A');
      await page.keyboard.insertText(input);
      await page.keyboard.press('Control+Enter');
      // The official SDK refuses to run an action with a broken schema, which is shown as any failure.
      await page.getByText(/(ended|failed) after/).first().waitFor();
      await page.getByRole('button', { name: 'Form', exact: true }).first().click();
      await picture(page, `schema-${key.split('/').at(-1)}`);
      await accessible(page, key);
      await page.context().close();
    }
  },
});
