import type { KeyPair } from '../../../src/identity/index.ts'
import {
  type Hash,
  type Head,
  heads,
  type OffsetRange,
  pruneRecords,
  redactionRecords,
} from '../../../src/protocol/index.ts'
import type { EventStore } from '../../../src/store/port/index.ts'
import { numbered, range, requestOf } from './support.ts'

/** Fills an own stream, with checkpoints at 1024, 2048 and 3072 and some events after them. */
export async function fill(store: EventStore, stream = 0): Promise<void> {
  for (let i = 0; i < 3; i++) await store.append(requestOf(numbered(1024, 1024 * i, stream)))
  await store.append(requestOf(numbered(28, 3072, stream)))
}

export function without(removed: readonly number[], to = 3100): number[] {
  return range(0, to).filter((n) => !removed.includes(n))
}

/** A prune record whose hash is on no chain. */
export function signedPrune(key: KeyPair, count: number, topic = 'a-topic', number = 0): Buffer {
  const hash = Buffer.alloc(32, count).toString('latin1') as Hash
  const stream = { node: key.publicKey, number }
  return pruneRecords.sign({ topic, stream, count, hash, lamport: count, time: 1 }, key)
}

/** A prune record for the place of a head. */
export function signedPruneAt(key: KeyPair, { topic, stream, count, hash, lamport }: Head): Buffer {
  return pruneRecords.sign({ topic, stream, count, hash, lamport, time: 1 }, key)
}

/** The heads of the checkpoints of a stream. */
export async function checkpointsOf(store: EventStore, stream = 0): Promise<Head[]> {
  return (await store.checkpoints(stream)).map(({ head }) => heads.decode(head))
}

export function signedRedaction(key: KeyPair, offset: number, topic = 'a-topic', number = 0): Buffer {
  return signedRanges(key, [{ first: offset, count: 1 }], topic, number)
}

export function signedRanges(key: KeyPair, ranges: readonly OffsetRange[], topic = 'a-topic', number = 0): Buffer {
  return redactionRecords.sign({ topic, stream: { node: key.publicKey, number }, ranges, time: 1 }, key)
}
