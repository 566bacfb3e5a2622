import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { ShoalProcess, until } from '../support/process.ts'
import { RunningNode } from '../support/running-node.ts'

// Step 3 needs a network: test/site/whole/journeys.test.ts. Step 4 is a check of `shoal doctor`.
test('J15: troubleshoot', async (t) => {
  const journey = new Journey(t)
  const folder = join(journey.folder, 'data')

  await t.test('an occupied port is named with its component and option', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    for (const [option, component] of [
      ['--bind-api', 'API'],
      ['--bind-admin', 'Admin'],
      ['--bind-swarm', 'Swarm'],
    ] as const) {
      const others = ['--bind-api', '--bind-admin', '--bind-swarm'].filter((other) => other !== option)
      const free = others.flatMap((other) => [other, '127.0.0.1:0'])
      const run = new ShoalProcess(t, ['run', '--working-dir', folder, option, `127.0.0.1:${port}`, ...free])
      const { code, stderr } = await run.ended
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`ERR_PORT_COLLISION.*${component}.*\\b${port}\\b.*${option}`, 's'))
    }
  })

  const node = await RunningNode.start(t, folder, { options: ['--log-json', 'on'] })
  await journey.run(['users', 'keygen'], '\n')

  await t.test('the log level changes at once, and every line is JSON', async () => {
    assert.equal(await journey.result('settings', 'get', '/admin/logLevels/node', node.admin), 'INFO')
    await journey.text('settings', 'set', '/admin/logLevels/node', 'DEBUG', node.admin)
    await journey.text('nodes', 'ls', node.admin)
    const lines = await until(
      () => (node.process.stderr.includes('"level":"DEBUG"') ? node.process.stderr : undefined),
      () => node.process.stderr,
    )
    for (const line of lines.slice(0, lines.lastIndexOf('\n')).split('\n')) {
      const { timestamp, level, message, target } = JSON.parse(line)
      for (const member of [timestamp, level, message, target]) assert.equal(typeof member, 'string', line)
    }
  })

  await t.test('a wrong address, and a user without a key', async () => {
    const message = await journey.refused('ERR_NODE_UNREACHABLE', 'events', 'offsets', '127.0.0.1:1')
    assert.match(message, /^unable to reach node, additional message: /)
    const keyless = new Journey(t)
    const missing = await keyless.refused('ERR_USER_UNAUTHENTICATED', 'events', 'offsets', node.admin)
    assert.ok(missing.includes(join(keyless.folder, 'config/shoal/keys/users/id')), missing)
    assert.ok(missing.includes('shoal users keygen'), missing)
  })
})
