import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { control } from '../support/control.ts'
import { Journey, untilConnected, untilPayloads } from '../support/journey.ts'
import { until } from '../support/process.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'

/** Waits until a node has tried in vain to connect to another one: a number of times, and both stay alone. */
async function untilApart(a: RunningNode, b: RunningNode, attempts: number): Promise<void> {
  await until(
    async () => {
      const [atA, atB] = await Promise.all([a, b].map(({ folder }) => control(folder, 'GET', '/node/inspect')))
      assert.deepEqual([atA?.body.connections, atB?.body.connections], [[], []])
      const [known] = atB?.body.knownPeers ?? []
      const refused = known?.failures.filter(({ display }: { display: string }) => /another swarm key/.test(display))
      return refused?.length >= attempts ? true : undefined
    },
    () => b.process.stderr,
  )
}

test('J6: secure a swarm', async (t) => {
  const journey = new Journey(t)
  const a = await RunningNode.start(t, join(journey.folder, 'a'), { swarm: testSwarm })
  const swarm = { ...testSwarm, initialPeers: [a.peerAddress] }
  const b = await RunningNode.start(t, join(journey.folder, 'b'), { swarm })
  for (const node of [a, b]) await untilConnected(node, 1)

  const key = (await journey.text('swarms', 'keygen')).trimEnd()
  assert.match(key, /^[A-Za-z0-9+/]{43}=$/)
  const file = join(journey.folder, 'key')
  const { swarmKey, outputPath } = await journey.result('swarms', 'keygen', '-o', file)
  assert.deepEqual([outputPath, readFileSync(file, 'utf8')], [file, swarmKey])
  assert.notEqual(swarmKey, key)

  const set = (node: RunningNode, value: string) => ['settings', 'set', '/swarm/swarmKey', value, node.folder]
  const { applied } = await journey.result(...set(a, key))
  assert.deepEqual(applied, { live: [], restart: ['/swarm/swarmKey'] })
  for (const node of [a, b]) await untilConnected(node, 0)
  await journey.text('events', 'publish', a.folder, '"missed"', '-t', 'j6')
  await untilApart(a, b, 2)
  assert.equal(await journey.text('events', 'query', b.folder, "FROM 'j6'"), '')

  for (const bad of [key.slice(1), 'x'.repeat(44)])
    assert.match(
      await journey.refused('ERR_SETTINGS_INVALID', ...set(a, bad)),
      /^Validation failed\.\n\tErrors:\n\t\t\//,
    )
  assert.equal(await journey.result('settings', 'get', '/swarm/swarmKey', a.folder), key)
  await a.stop()
  const again = await RunningNode.start(t, a.folder, { swarm: 'as stored', swarmPort: a.swarmPort })

  await journey.text(...set(b, key))
  for (const node of [again, b]) await untilConnected(node, 1)
  assert.deepEqual(await untilPayloads(b, 'j6', 1), ['missed'])
})
