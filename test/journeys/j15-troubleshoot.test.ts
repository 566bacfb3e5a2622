import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Journey, untilConnected, untilPayloads } from '../support/journey.ts'
import { ShoalProcess, until } from '../support/process.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'
import { testRandom } from '../support/seed.ts'

/** Ports that are not given to others as free ones; another program may have them nevertheless. */
const [firstPort, ports] = [15_000, 15_000]

/** Starts a node on ports that are named, like a person who has read which one is occupied. */
async function startOnNamedPorts(t: TestContext, folder: string): Promise<{ run: ShoalProcess; admin: string }> {
  const random = testRandom(t)
  for (;;) {
    const addresses = Array.from({ length: 3 }, () => `127.0.0.1:${firstPort + random.below(ports)}`)
    const [api, admin, swarm] = addresses as [string, string, string]
    const options = ['--bind-api', api, '--bind-admin', admin, '--bind-swarm', swarm]
    const run = new ShoalProcess(t, ['run', '--working-dir', folder, ...options])
    const started = run.logged(/NODE_STARTED_BY_HOST/).then(() => true)
    if (await Promise.race([started, run.ended.then(() => false)]).catch(() => false)) return { run, admin }
    const { stderr } = await run.ended
    assert.match(stderr, /ERR_PORT_COLLISION/)
  }
}

// Step 3 needs a network: test/site/whole/journeys.test.ts.
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

  await t.test('with other ports it starts, and commands reach it as host:port', async () => {
    const { run, admin } = await startOnNamedPorts(t, folder)
    await journey.run(['users', 'keygen'], '\n')
    const [row] = await journey.result('nodes', 'ls', admin)
    assert.deepEqual([row.connection, row.host], ['reachable', admin])
    assert.match(await journey.text('nodes', 'ls', admin), new RegExp(` ${admin} `))
    run.kill('SIGTERM')
    assert.equal((await run.ended).code, 0)
  })

  const node = await RunningNode.start(t, folder, { options: ['--log-json', 'on'] })

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

  await t.test('nodes of different topics do not replicate, and doctor says why', async () => {
    const a = await RunningNode.start(t, join(journey.folder, 'a'), { swarm: testSwarm })
    const swarm = { ...testSwarm, initialPeers: [a.peerAddress] }
    const b = await RunningNode.start(t, join(journey.folder, 'b'), { swarm })
    await untilConnected(b, 1)
    await journey.text('settings', 'set', '/swarm/topic', 'hall-3', b.folder)
    await journey.text('events', 'publish', a.folder, '"apart"', '-t', 'j15')
    const finding = await until(
      async () => {
        const { stdout } = await journey.run(['doctor', b.folder, '--json'])
        const { findings } = JSON.parse(stdout).result
        return findings.find(({ check }: { check: string }) => check === 'topic')
      },
      () => b.process.stderr,
    )
    assert.equal(finding.severity, 'error')
    assert.match(finding.problem, /the node is in the topic 'default-topic', this node in 'hall-3'/)
    assert.equal(await journey.text('events', 'query', b.folder, "FROM 'j15'"), '')
    const human = await journey.run(['doctor', b.folder])
    assert.equal(human.code, 1)
    const [fix = ''] = finding.fix
    assert.ok(human.stdout.includes(finding.problem) && human.stdout.includes(fix), human.stdout)
    // The command that it names helps.
    assert.match(fix, /^shoal settings set \/swarm\/topic default-topic /)
    await journey.text('settings', 'set', '/swarm/topic', 'default-topic', b.folder)
    assert.deepEqual(await untilPayloads(b, 'j15', 1), ['apart'])
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
