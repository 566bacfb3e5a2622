import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { control } from '../support/control.ts'
import { Journey, untilConnected } from '../support/journey.ts'
import { until } from '../support/process.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'

test('J10: keep storage under control', async (t) => {
  const journey = new Journey(t)
  const node = await RunningNode.start(t, join(journey.folder, 'data'), {
    options: ['--retention-interval', '50'],
    swarm: testSwarm,
  })
  const swarm = { ...testSwarm, initialPeers: [node.peerAddress] }
  const peer = await RunningNode.start(t, join(journey.folder, 'peer'), { swarm })
  await untilConnected(peer, 1)
  const { folder, id } = node
  const routing = {
    routes: [{ from: "'logs'", into: 'logs' }],
    streams: { logs: { maxEvents: 200 }, other: { maxEvents: 1 } },
  }
  const set = await journey.result('settings', 'set', '/eventRouting', JSON.stringify(routing), folder)
  assert.deepEqual(set.applied.restart, [])
  await node.process.logged(/\/eventRouting\/streams\/other has no effect: no route leads into 'other'/)

  type Found = { readonly stream: string; readonly offset: number }
  const published = async (tag: string): Promise<Found> =>
    (await journey.result('events', 'publish', folder, '1', '-t', tag)).data[0]
  const [routed, untagged] = [await published('logs'), await published('else')]
  assert.equal(untagged.stream, `${id}-0`)
  assert.match(routed.stream, /-[1-9]\d*$/)

  const data = Array.from({ length: 2500 }, (_, payload) => ({ tags: ['logs'], payload }))
  await control(folder, 'POST', '/events/publish', { body: JSON.stringify({ data }) })
  const remaining = async (on: RunningNode): Promise<Found[]> => {
    const body = JSON.stringify({ query: "FROM 'logs'", order: 'asc' })
    const lines = (await control(on.folder, 'POST', '/events/query', { body })).body as { type: string }[]
    return lines.filter(({ type }) => type === 'event') as unknown as Found[]
  }
  const left = await until(
    async () => {
      const events = await remaining(node)
      return events.length < 500 ? events : undefined
    },
    () => node.process.stderr,
  )
  assert.ok(left.length >= 200)
  assert.deepEqual(left.at(-1), { ...left.at(-1), stream: routed.stream, offset: routed.offset + 2500 })

  // Another node follows: it has what is left, and nothing more.
  await until(
    async () => (isDeepStrictEqual(await remaining(peer), await remaining(node)) ? true : undefined),
    () => peer.process.stderr,
  )

  // The default stream can have limits, too.
  const limited = { ...routing.streams, default: { maxEvents: 200 } }
  await journey.text('settings', 'set', '/eventRouting/streams', JSON.stringify(limited), folder)
  const more = Array.from({ length: 2500 }, (_, payload) => ({ tags: ['else'], payload }))
  await control(folder, 'POST', '/events/publish', { body: JSON.stringify({ data: more }) })
  await node.process.logged(/removed \d+ events that were beyond the limits of the stream 'default'/)
})
