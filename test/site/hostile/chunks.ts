import assert from 'node:assert/strict'
import { forge, OwnStream } from '../../../scripts/sim/hostile/own-stream.ts'
import type { SiteNode } from '../../../scripts/site/site-node.ts'
import { KeyPair, nodeIdOf } from '../../../src/identity/index.ts'
import {
  decodeChunk,
  encodeChunk,
  genesis,
  heads,
  shortHead,
  signedHeadOf,
  withoutAllPayloads,
} from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { eventually } from '../swarm-of.ts'
import { WirePeer, wireTopic } from '../wire-peer.ts'
import { type Attack, assertDropped, assertStaysConnected, type Victim } from './victim.ts'

/** A pushed chunk is a claim as well, whose head is checked first. */
const badChunk = /bad (chunk|head)/
const now = (): number => Date.now() * 1000

/** Pushes a chunk as a new peer, which is dropped for it. */
async function pushBad(victim: Victim, make: (peer: WirePeer) => Uint8Array): Promise<void> {
  const peer = await WirePeer.greet(victim.t, victim.node)
  peer.send({ is: 'push', chunk: make(peer) })
  await assertDropped(victim, peer.nodeId, badChunk)
}

function firstChunk({ captured }: Victim): Uint8Array {
  const [chunk] = captured.chunks
  assert.ok(chunk !== undefined, 'a chunk was captured')
  return chunk
}

/** The first event of a node that the victim does not know. */
class Author {
  readonly #key = KeyPair.generate(systemRandom)
  readonly chunk: Uint8Array

  constructor() {
    const labels = { appId: 'com.example.author', tags: ['author'] }
    this.chunk = new OwnStream(this.#key, 0, wireTopic).append(['"whole"'], now(), 1, labels).chunk
  }

  /** What a node has of it. */
  async payloadsOn(node: SiteNode): Promise<readonly unknown[]> {
    const ofAuthor = `${nodeIdOf(this.#key.publicKey)}-0`
    const events = await node.query(`FROM 'author'`)
    return events.filter(({ stream }) => stream === ofAuthor).map(({ payload }) => payload)
  }
}

const altered: Attack = async (victim) => {
  const author = new Author()
  const { chunk } = author
  // In the records, in the hash and in the signature.
  for (const at of [chunk.length >> 2, chunk.length - 70, chunk.length - 2])
    await pushBad(victim, () => Uint8Array.from(chunk, (byte, index) => (index === at ? byte ^ 1 : byte)))
  assert.deepEqual(await author.payloadsOn(victim.node), [])
}

/** Continues the stream of an honest node with events that another key has signed. */
const forged: Attack = async (victim) => {
  const { stream, count, hash, lamport } = heads.decode(signedHeadOf(firstChunk(victim)))
  const place = { stream, previous: hash, first: count, lamport: lamport + 1, time: now(), topic: wireTopic }
  await pushBad(victim, ({ key }) => forge({ key, ...place, payloads: ['"forged"'], labels: site }).chunk)
}

/** Claims to have a stream of a key that it does not have, and pushes an event of it. */
const madeUpKeys: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const stream = { node: KeyPair.generate(systemRandom).publicKey, number: 0 }
  const place = { key: peer.key, stream, previous: genesis(wireTopic, stream), first: 0, lamport: 1, time: now() }
  const { chunk, signedHead } = forge({ ...place, payloads: ['"made up"'], labels: site, topic: wireTopic })
  const head = shortHead(signedHead, wireTopic)
  peer.send({ is: 'heads', entries: [{ isFrozen: false, pruned: 0, records: Buffer.alloc(8), head }], answer: [] })
  await assertDropped(victim, peer.nodeId, /bad head/)
  await pushBad(victim, () => chunk)
}

/** Answers a request with the chunk of another stream. */
const wrongAnswer: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  const stream = new OwnStream(peer.key, 0, wireTopic)
  const head = shortHead(stream.append(['"claimed"'], now(), 1, site).signedHead, wireTopic)
  peer.send({ is: 'heads', entries: [{ isFrozen: false, pruned: 0, records: Buffer.alloc(8), head }], answer: [] })
  const { id } = await peer.next('want')
  peer.send({ is: 'chunk', id, more: false, chunk: Buffer.from('this is not a chunk') })
  await assertDropped(victim, peer.nodeId, badChunk)
}

/** Relays events of an author without their payloads, which leaves the hash chain as it is. */
const stripped: Attack = async (victim) => {
  const author = new Author()
  const { frames, signedHead } = decodeChunk(author.chunk)
  const records = frames.map((frame) => Buffer.from(withoutAllPayloads(frame)))
  await pushBad(victim, () => encodeChunk(records, signedHead))
  assert.deepEqual(await author.payloadsOn(victim.node), [])
  // An honest relay is believed afterwards.
  const relay = await WirePeer.greet(victim.t, victim.node)
  relay.send({ is: 'push', chunk: author.chunk })
  await eventually(
    async () => ((await author.payloadsOn(victim.node)).join() === 'whole' ? true : undefined),
    () => 'the whole event does not arrive',
  )
  await assertStaysConnected(relay)
  await relay.stop()
}

/** The labels of the events that the test counts. */
const site = { appId: 'com.example.site', tags: ['site'] }

export const chunkAttacks = { altered, forged, stripped, madeUpKeys, wrongAnswer } as const satisfies Record<
  string,
  Attack
>
