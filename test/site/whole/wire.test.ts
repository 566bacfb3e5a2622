import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { SiteNode } from '../../../scripts/site/site-node.ts'
import { encodeMessage } from '../../../src/swarm/index.ts'
import { type Recorded, record, replay } from '../conversation.ts'
import { capture } from '../hostile/victim.ts'
import { eventually, payloads, TestSite, untilLogged } from '../swarm-of.ts'
import { WirePeer, wireSettings } from '../wire-peer.ts'

/** Recorded between two nodes of version 3.0.0: SHOAL_RECORD=1 writes it anew. */
const recordedFile = join(import.meta.dirname, '../recorded-conversation.json')
const recordedCount = 30

async function publishSome(node: SiteNode): Promise<void> {
  for (let i = 0; i < recordedCount; i++) await node.publish({ i, text: 'recorded' })
}

async function untilCount(node: SiteNode, count: number): Promise<void> {
  await eventually(
    async () => ((await payloads(node)).length === count ? true : undefined),
    () => `not ${count} events`,
  )
}

/** A node that sends a ping gets its answer, so that it was understood. */
async function assertUnderstood(peer: WirePeer): Promise<void> {
  peer.send({ is: 'ping', id: 99 })
  await peer.next('pong', ({ id }) => id === 99)
}

async function replayedTwice(t: TestContext, node: SiteNode, conversation: readonly Recorded[]): Promise<void> {
  await replay(t, node, conversation)
  await untilCount(node, recordedCount)
  const before = await payloads(node)
  assert.deepEqual(
    before,
    Array.from({ length: recordedCount }, (_, i) => ({ i, text: 'recorded' })),
  )
  // What was recorded is not asked for again, so that it is sent without waiting.
  const again = await replay(
    t,
    node,
    conversation.filter(({ from }) => from === 'source'),
  )
  await assertUnderstood(again)
  assert.deepEqual(await payloads(node), before)
}

test('a conversation is recorded, and replayed to other nodes', async (t) => {
  const machines = new TestSite(t, 3)
  const [source, reader, other] = await Promise.all(
    [0, 1, 2].map((machine) => machines.node(machine, { settings: wireSettings() }).start()),
  )
  assert.ok(source !== undefined && reader !== undefined && other !== undefined)
  await publishSome(source)
  const conversation = await record(t, source, reader, () => untilCount(reader, recordedCount))
  if (process.env['SHOAL_RECORD'] !== undefined)
    writeFileSync(recordedFile, `${JSON.stringify(conversation, undefined, 1)}\n`)
  await machines.part('recorded now', () => replayedTwice(t, other, conversation))
})

test('a conversation that version 3.0.0 has recorded is understood', async (t) => {
  const machines = new TestSite(t, 1)
  const node = await machines.node(0, { settings: wireSettings() }).start()
  await replayedTwice(t, node, JSON.parse(readFileSync(recordedFile, 'utf8')) as Recorded[])
})

test('nodes of other versions', async (t) => {
  const machines = new TestSite(t, 1)
  const node = await machines.node(0, { settings: wireSettings() }).start()
  await publishSome(node)

  await machines.part('a node without any features gets new events, and is answered', async () => {
    const peer = await WirePeer.greet(t, node, { features: [] })
    const { stream } = (await node.publish('new'))[0] ?? {}
    assert.ok(stream !== undefined)
    await peer.next('push')
    await assertUnderstood(peer)
    await peer.stop()
  })

  await machines.part('a later version with unknown features, fields and messages is understood', async () => {
    const peer = await WirePeer.connect(t, node)
    const later = { is: 'hello', version: 9, features: ['later'], required: [], time: Date.now() * 1000 } as const
    const more = Buffer.from('further fields')
    peer.sendBytes('live', Buffer.concat([encodeMessage(later), more]))
    await peer.next('hello')
    // 128 is the display name.
    for (const kind of [129, 200, 255])
      for (const channel of ['live', 'sync'] as const) peer.sendBytes(channel, Buffer.concat([Buffer.of(kind), more]))
    peer.sendBytes('sync', Buffer.concat([encodeMessage({ is: 'ping', id: 5 }), more]))
    await peer.next('pong', ({ id }) => id === 5)
    await node.publish('for a later version')
    await peer.next('push')
    assert.equal(peer.closed, undefined)
    await peer.stop()
  })

  await machines.part('a feature that is required and not known ends the session, and is logged', async () => {
    const peer = await WirePeer.connect(t, node)
    peer.send({ is: 'hello', version: 2, features: [], required: ['teleport'], time: Date.now() * 1000 })
    assert.match(await peer.untilClosed(), /a required feature is not known/)
    await untilLogged(node, /unknownRequiredFeature/)
    await untilLogged(node, /requires what this version cannot do: "/)
    // It is not kept out: its next version may be another one.
    assert.deepEqual((await capture(t, node)).heads, [])
  })
})
