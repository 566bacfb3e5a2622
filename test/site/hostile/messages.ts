import assert from 'node:assert/strict'
import { zstdCompressSync } from 'node:zlib'
import { CID } from 'multiformats/cid'
import { OwnStream } from '../../../scripts/sim/hostile/own-stream.ts'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import { nodeAppId } from '../../../src/identity/index.ts'
import { ByteWriter, fullHead, heads, redactionRecords, sha256, shortHead } from '../../../src/protocol/index.ts'
import { eventually } from '../swarm-of.ts'
import { WirePeer, wireTopic } from '../wire-peer.ts'
import { type Attack, assertDropped, assertKeptOut, assertStaysConnected, type Victim } from './victim.ts'

const now = (): number => Date.now() * 1000

/** Sends heads and chunks of honest nodes again and again. They are true, so nothing follows from them. */
const replays: Attack = async ({ t, node, captured }) => {
  const peer = await WirePeer.greet(t, node)
  for (let round = 0; round < 50; round++) {
    peer.send({ is: 'heads', entries: [...captured.heads].reverse(), answer: [] })
    for (const chunk of captured.chunks) peer.send({ is: 'push', chunk })
  }
  await assertStaysConnected(peer)
  assert.deepEqual(peer.all('want-evidence'), [], 'no fork is suspected')
  await peer.stop()
}

/** Signs redactions of events that it never sends. They are bounded, and the peer is not read when they wait. */
const endlessRecords: Attack = async ({ t, node }) => {
  const peer = await WirePeer.greet(t, node)
  const { key, chunks } = new OwnStream(peer.key, 0, wireTopic)
  assert.equal(chunks.length, 0)
  for (let round = 0; round < 20; round++) {
    const redactions = Array.from({ length: 100 }, (_, i) => {
      const ranges = [{ first: 2 ** 30 + 1000 * (100 * round + i), count: 1 }]
      return redactionRecords.sign({ topic: wireTopic, stream: key, ranges, time: now() }, peer.key)
    })
    peer.send({ is: 'records', id: 0, stream: key, prune: undefined, redactions, next: undefined })
  }
  await assertStaysConnected(peer)
  await peer.stop()
}

function firstHead({ captured }: Victim): Uint8Array {
  const [entry] = captured.heads
  assert.ok(entry !== undefined && !entry.isFrozen, 'a head was captured')
  return fullHead(entry.head, wireTopic)
}

/** Repeats one redaction, which has no effect after the first time: each copy is verified in vain. */
const vainRecords: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const stream = { node: peer.key.publicKey, number: 0 }
  const ranges = [{ first: 0, count: 1 }]
  const record = redactionRecords.sign({ topic: wireTopic, stream, ranges, time: now() }, peer.key)
  const redactions = Array.from({ length: limits.redactionsPerCall }, () => record)
  const message = { is: 'records', id: 0, stream, prune: undefined, redactions, next: undefined } as const
  for (let sent = 0; sent <= limits.verificationsInVain * 4; sent += redactions.length) peer.send(message)
  await assertDropped(victim, peer.nodeId, /too many verifications of what changes nothing/)
  await assertKeptOut(victim, peer.nodeId, 'tooManyVerifications')
}

/** Makes up streams without end. They have numbers that no node may use, so that none of them takes a slot. */
const madeUpStreams: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const first = format.streamsPerNode
  for (let number = first; number < first + 1.25 * limits.newStreamsPerHour && peer.closed === undefined; number++) {
    peer.send({ is: 'push', chunk: new OwnStream(peer.key, number, wireTopic).append(['1'], now(), 1).chunk })
    // The victim is slower, and the queue of a session is bounded.
    if (number % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await assertDropped(victim, peer.nodeId, /too many new streams within an hour/)
  await assertKeptOut(victim, peer.nodeId, 'tooManyStreams')
}

/** Signs a redaction of the events of another node. */
const foreignRedaction: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const { stream } = heads.decode(firstHead(victim))
  const record = redactionRecords.sign(
    { topic: wireTopic, stream, ranges: [{ first: 0, count: 1 }], time: now() },
    peer.key,
  )
  peer.send({ is: 'records', id: 0, stream, prune: undefined, redactions: [record], next: undefined })
  await assertDropped(victim, peer.nodeId, /bad record/)
}

/** Says that a stream of an honest node is forked, and sends what proves nothing. */
const falseEvidence: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const signed = firstHead(victim)
  const { stream } = heads.decode(signed)
  peer.send({ is: 'heads', entries: [{ isFrozen: true, stream }], answer: [] })
  // The events before the fork are asked for first.
  peer.send({ is: 'nothing', id: (await peer.next('want')).id, reason: 'notHere' })
  const { id } = await peer.next('want-evidence')
  const writer = new ByteWriter(1024).bytes(Buffer.from('shoal/fork/1\0', 'latin1'))
  for (const head of [signed, signed, Buffer.of()]) writer.uvarint(head.length).bytes(head)
  peer.send({ is: 'evidence', id, record: writer.uvarint(0).uvarint(0).copy() })
  await assertDropped(victim, peer.nodeId, /bad record/)
}

/** Claims to have a stream, and answers with few bytes that become many. */
const decompressionBomb: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const stream = new OwnStream(peer.key, 0, wireTopic)
  const head = shortHead(stream.append(['"claimed"'], now(), 1).signedHead, wireTopic)
  peer.send({ is: 'heads', entries: [{ isFrozen: false, pruned: 0, records: Buffer.alloc(8), head }], answer: [] })
  const { id } = await peer.next('want')
  const packed = zstdCompressSync(Buffer.alloc(512 * 1024 * 1024))
  const message = new ByteWriter(packed.length + 64).byte(7).uvarint(id).byte(0).byte(1).uvarint(format.chunkBytes)
  peer.sendBytes('sync', message.uvarint(packed.length).bytes(packed).copy())
  await assertDropped(victim, peer.nodeId, /bad chunk|malformed message/)
}

/** Asks for far more than a node answers at the same time: for one stream, and for many. */
const endlessRequests: Attack = async (victim) => {
  const { stream } = heads.decode(firstHead(victim))
  for (const isOneStream of [true, false]) {
    const peer = await WirePeer.greet(victim.t, victim.node)
    const of = (id: number) => (isOneStream ? stream : { ...stream, number: id % format.streamsPerNode })
    for (let id = 1; id <= 10_000; id++) peer.send({ is: 'want', id, stream: of(id), from: 0, bytes: 2 ** 40 })
    await assertDropped(victim, peer.nodeId, /too many requests/)
    await assertKeptOut(victim, peer.nodeId, 'tooManyRequests')
  }
}

/** Sends bytes that are no message. */
const garbage: Attack = async (victim) => {
  for (const channel of ['live', 'sync', 'blocks'] as const) {
    const peer = await WirePeer.greet(victim.t, victim.node)
    peer.sendBytes(channel, Buffer.from([5, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]))
    await assertDropped(victim, peer.nodeId, /malformed message/)
  }
}

/** Publishes an upload of its own, and answers the request for its block with other bytes. */
const wrongBlock: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const cid = Buffer.concat([Buffer.of(0x01, 0x70, 0x12, 0x20), Buffer.from(sha256(peer.key.publicKey), 'latin1')])
  const payload = JSON.stringify({ type: 'fileAdded', cid: CID.decode(cid).toString() })
  const stream = new OwnStream(peer.key, 0, wireTopic)
  peer.send({ is: 'push', chunk: stream.append([payload], now(), 1, { appId: nodeAppId, tags: ['files'] }).chunk })
  await eventually(
    () =>
      peer.blocks.find((message) => message.is === 'wantBlocks' && message.cids.some((wanted) => cid.equals(wanted))),
    () => 'the block is not asked for',
  )
  peer.sendBlocks({ is: 'block', cid, bytes: Buffer.from('other bytes') })
  await assertDropped(victim, peer.nodeId, /bad block/)
}

export const messageAttacks = {
  replays,
  endlessRecords,
  vainRecords,
  foreignRedaction,
  falseEvidence,
  decompressionBomb,
  endlessRequests,
  garbage,
  wrongBlock,
} as const satisfies Record<string, Attack>

/** Attacks that send much. */
export const messageFloods = { madeUpStreams } as const satisfies Record<string, Attack>
