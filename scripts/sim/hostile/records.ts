import { pruneRecords, redactionRecords } from '../../../src/protocol/index.ts'
import { streamIdOf } from '../ledger.ts'
import { simTopic } from '../sim-store.ts'
import type { Behaviour, HostileNode } from './hostile-node.ts'

const recordsPerAct = 120
const mostRecords = 2400
const mostEvents = 40
const number = 5

/** Signs records without end: of events that it never sends, of those that it has sent, and prunes again and again. */
export function endlessRecords(): Behaviour {
  let sent = 0
  return {
    act: (node, peer) => {
      const stream = node.stream(number)
      if (stream.count < mostEvents)
        node.send(peer, { is: 'push', chunk: stream.append(['"removed"'], node.clock.now()).chunk })
      if (sent >= mostRecords) return
      sent += recordsPerAct
      const isNear = node.random.chance(0.2)
      const redactions = Array.from({ length: recordsPerAct }, () => redaction(node, isNear))
      const records = { is: 'records', id: 0, stream: stream.key, next: undefined } as const
      if (node.random.chance(0.3)) node.send(peer, { ...records, prune: prune(node), redactions: [] })
      node.send(peer, { ...records, prune: undefined, redactions })
    },
  }
}

function redaction({ key, random, clock, swarm }: HostileNode, isNear: boolean): Uint8Array {
  const first = random.below(isNear ? 2 * mostEvents : 2 ** 40)
  const count = 1 + random.below(8)
  const ranges = [{ first, count }]
  const topic = random.chance(0.005) ? 'other' : simTopic
  const offsets = Array.from({ length: count }, (_, i) => first + i)
  swarm.ledger.redact(streamIdOf(key.publicKey, number), offsets)
  return redactionRecords.sign({ topic, stream: { node: key.publicKey, number }, ranges, time: clock.now() }, key)
}

/** A prune record at the end of one of its chunks, each of which is a checkpoint. Its head may be another one. */
function prune(node: HostileNode): { record: Uint8Array; head: Uint8Array } {
  const { key, random, clock, swarm } = node
  const { chunks } = node.stream(number)
  const at = random.below(chunks.length)
  const { signedHead, hash } = chunks[at] as (typeof chunks)[number]
  const stream = { node: key.publicKey, number }
  // Every chunk has one event, whose lamport timestamp is its offset.
  const record = { topic: simTopic, stream, count: at + 1, hash, lamport: at, time: clock.now() }
  swarm.ledger.prune(streamIdOf(key.publicKey, number), at + 1)
  const other = chunks[random.below(chunks.length)]?.signedHead ?? signedHead
  return { record: pruneRecords.sign(record, key), head: random.chance(0.7) ? signedHead : other }
}
