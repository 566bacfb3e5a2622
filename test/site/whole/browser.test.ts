import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { browser } from '../../support/browser.ts'
import { testRandom } from '../../support/seed.ts'
import { nameContent, readable, upload } from '../files.ts'
import { SlowLink } from '../slow-link.ts'
import { addressOf, newSwarmKey, ownSwarm, TestSite } from '../swarm-of.ts'

const example = join(import.meta.dirname, '../../../examples/counter')

test('a website that was uploaded on one node runs in a browser on another one, with the events of both', async (t) => {
  const machines = new TestSite(t, 2)
  const swarmKey = newSwarmKey()
  const a = await machines.node(0, { settings: ownSwarm([], swarmKey) }).start()
  const b = await machines.node(1, { settings: ownSwarm([addressOf(a)], swarmKey) }).start()
  const files = ['index.html', 'app.js', 'style.css'].map((name) => [name, readFileSync(join(example, name), 'utf8')])
  await nameContent(a, 'counter', await upload(a, Object.fromEntries(files)))
  await readable(b, 'counter/app.js')
  const chromium = await browser(t)
  const problems: string[] = []
  const open = async (host: string) => {
    // Names below localhost are loopback addresses of the machine of the browser.
    const to = { host, port: 4454 }
    const { port } = await SlowLink.listen(t, { to, delayMs: 0, loss: 0, random: testRandom(t) })
    const page = await chromium.newPage()
    page.on('pageerror', ({ message }) => problems.push(message))
    await page.goto(`http://counter.actyx.localhost:${port}/`)
    await page.getByText('connected', { exact: true }).waitFor()
    return page
  }
  const [onB, onA] = [await open(b.machine.v4), await open(a.machine.v4)]
  await onB.getByRole('button').click()
  await onA.locator('#count', { hasText: /^1$/ }).waitFor()
  await onA.getByRole('button').click()
  await onB.locator('#count', { hasText: /^2$/ }).waitFor()
  assert.deepEqual(problems, [])
})
