import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertBelow } from '../support/duration.ts'
import { temporaryFolder } from '../support/folder.ts'
import { Journey } from '../support/journey.ts'
import { ShoalProcess } from '../support/process.ts'

test('J1: install and first start', async (t) => {
  const journey = new Journey(t)
  const cwd = journey.folder
  const run = (...more: string[]) => new ShoalProcess(t, ['run', '--random', ...more], { cwd })

  assert.match(await journey.text('--version'), /^shoal \d+\.\d+\.\d+-\S+-\S+-\S+-(release|debug)\n$/)

  const first = run()
  const url = await first.api()
  assert.ok(existsSync(join(cwd, 'shoal-data')))
  assert.match(first.stderr, /^using data directory `\S+\/shoal-data`\n/)
  for (const bound of [
    /ADMIN_API_BOUND: Admin API bound to \/ip4\/127\.0\.0\.1\/tcp\/\d+\./,
    /SWARM_SERVICES_BOUND: Swarm Services bound to \/ip4\/\S+\/tcp\/\d+\./,
    /API_BOUND: API bound to 127\.0\.0\.1:\d+\./,
    /NODE_STARTED_BY_HOST: \S+ \S+ is running\./,
  ])
    await first.logged(bound)

  const id = await (await fetch(`${url}/api/v2/node/id`)).text()
  assert.match(id, /^[./0-9A-Za-z]{43}$/)

  const second = run()
  const refused = await second.ended
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /Error: .*data directory `\S+` is locked by another shoal process/)
  const machine = await run('--json').ended
  assert.equal(machine.code, 1)
  assert.equal(JSON.parse(machine.stdout).code, 'ERR_IO')

  first.kill('SIGINT')
  assert.equal((await first.ended).code, 0)
  assert.match(first.stderr, /NODE_STOPPED_BY_HOST/)

  const again = run()
  assert.equal(await (await fetch(`${await again.api()}/api/v2/node/id`)).text(), id)
  again.kill('SIGINT')
  await again.ended
})

test('J1: a node in an empty folder runs within five seconds', async (t) => {
  const took = await assertBelow(5000, async () => {
    const begun = performance.now()
    const node = new ShoalProcess(t, ['run', '--random'], { cwd: temporaryFolder(t) })
    await node.logged(/NODE_STARTED_BY_HOST/)
    const ms = performance.now() - begun
    node.kill('SIGINT')
    await node.ended
    return ms
  })
  t.diagnostic(`started after ${Math.round(Math.min(...took))} ms`)
})
