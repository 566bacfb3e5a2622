import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { browser } from '../support/browser.ts'
import { startNode } from '../support/node.ts'

/** Opens the API explorer of a new node; fails the test on page errors and on requests to other hosts. */
async function apiPage(t: TestContext): Promise<Page> {
  const { url } = await startNode(t)
  const page = await (await browser(t)).newPage()
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  // An error response to a request of the user is not an error of the page.
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) problems.push(request.url())
  })
  t.after(() => assert.deepEqual(problems, []))
  await page.goto(`${url}/api/v2/openapi`)
  return page
}

async function opened(page: Page, operation: string): Promise<Locator> {
  const details = page.locator('details', { has: page.locator('summary', { hasText: operation }) })
  await details.locator('summary').click()
  return details
}

async function responseOf(operation: Locator, status: string): Promise<string> {
  await operation.getByRole('button', { name: 'Send' }).click()
  await operation.locator('output', { hasText: status }).waitFor()
  await operation.locator('.stop').waitFor({ state: 'hidden' })
  return await operation.locator('.response').innerText()
}

test('the API explorer publishes an event and queries it', async (t) => {
  const page = await apiPage(t)
  const publish = await opened(page, '/api/v2/events/publish')
  await publish.locator('textarea').fill('{"data":[{"tags":["order"],"payload":"from a page"}]}')
  assert.match(await responseOf(publish, '200'), /"lamport":/)
  assert.match(await responseOf(await opened(page, '/api/v2/events/query'), '200'), /"payload":"from a page"/)
  await publish.getByRole('link', { name: 'PublishRequest' }).click()
  assert.match(page.url(), /#schema-PublishRequest$/)
})

test('the API explorer streams a subscription until it is stopped', async (t) => {
  const page = await apiPage(t)
  const subscribe = await opened(page, 'new events as they arrive')
  await subscribe.getByRole('button', { name: 'Send' }).click()
  await subscribe.locator('.response', { hasText: '"type":"offsets"' }).waitFor()
  await responseOf(await opened(page, '/api/v2/events/publish'), '200')
  await subscribe.locator('.response', { hasText: '"type":"started"' }).waitFor()
  await subscribe.getByRole('button', { name: 'Stop' }).click()
  await subscribe.locator('output', { hasText: 'stopped' }).waitFor()
})

test('the API explorer fills in path parameters, and uploads files', async (t) => {
  const page = await apiPage(t)
  const blob = await opened(page, 'Store a blob')
  await blob.locator('input[name=path]').fill('a b/ü')
  await blob.locator('textarea').fill('content')
  await responseOf(blob, '204')
  const upload = await opened(page, 'Upload a file')
  await upload
    .locator('input[type=file]')
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('42\n') })
  assert.match(await responseOf(upload, '200'), /^bafybei/)
})

test('the API explorer shows why a manifest is rejected', async (t) => {
  const page = await apiPage(t)
  await page.locator('input[name=manifest]').fill('{}')
  const offsets = await opened(page, '/api/v2/events/offsets')
  await offsets.getByRole('button', { name: 'Send' }).click()
  await offsets.locator('output', { hasText: 'No token: Invalid request.' }).waitFor()
})
