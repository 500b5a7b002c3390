// An application of the official SDK that is full of markup and odd schemas.

import assert from 'node:assert/strict';

import { accessible, picture, run } from '../../prompts-page/js/harness.mjs';
import { PAYLOAD } from './payload.mjs';
import { call, enter, odd, runAction } from './tools.mjs';

const server = await odd();
await runAction(server, '/flow/echo', { text: PAYLOAD });
await runAction(server, '/flow/fails', PAYLOAD);

/** Nothing of what was shown became an element or ran. */
async function harmless(page) {
  assert.equal(await page.evaluate(() => window.executed), undefined);
  const planted = page.locator('img[src=x], script:not([src])');
  assert.equal(await planted.count(), 0);
}

await run({
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
