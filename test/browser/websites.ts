import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { browser } from '../support/browser.ts'
import { startNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

const example = new URL('../../examples/counter', import.meta.url).pathname

const showing = (page: Page, text: string) => page.locator('#count', { hasText: new RegExp(`^${text}$`) }).waitFor()

test('a website uploaded with the command line runs in a browser, in sync across windows', async (t) => {
  const { url } = await startNode(t)
  const { host, port } = new URL(url)
  const files = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await shoal(t, ['files', ...args, '--node', host])
    assert.equal(code, 0, stderr)
    return stdout.trim()
  }
  await files('name', 'counter', await files('add', example))
  const context = await (await browser(t)).newContext()
  const problems: string[] = []
  const open = async (): Promise<Page> => {
    const page = await context.newPage()
    page.on('pageerror', ({ message }) => problems.push(message))
    await page.goto(`http://counter.actyx.localhost:${port}/`)
    await page.getByText('connected', { exact: true }).waitFor()
    return page
  }
  const [first, second] = [await open(), await open()]
  await showing(first, '0')
  await first.getByRole('button').click()
  await showing(second, '1')
  await second.getByRole('button').click()
  await showing(first, '2')
  assert.equal(await first.title(), 'Counter')
  assert.deepEqual(problems, [])
})

test('a directory without an index page is served as a listing with working links', async (t) => {
  const { url, upload, call } = await startNode(t)
  const cid = await (await upload({ 'sub/ü "x" %.txt': 'odd', 'sub/b.txt': 'B' })).text()
  await call('/api/v2/files/docs', { method: 'PUT', body: cid })
  const page = await (await browser(t)).newPage()
  await page.goto(`http://docs.shoal.localhost:${new URL(url).port}/sub`)
  await page.getByRole('link', { name: 'ü "x" %.txt' }).click()
  assert.equal(await page.locator('body').innerText(), 'odd')
})
