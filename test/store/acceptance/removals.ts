import type { KeyPair } from '../../../src/identity/index.ts'
import { pruneRecords, redactionRecords } from '../../../src/protocol/index.ts'
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

export function signedPrune(key: KeyPair, count: number, topic = 'a-topic', number = 0): Buffer {
  return pruneRecords.sign({ topic, stream: { node: key.publicKey, number }, count, time: 1 }, key)
}

export function signedRedaction(key: KeyPair, offset: number, topic = 'a-topic', number = 0): Buffer {
  return redactionRecords.sign({ topic, stream: { node: key.publicKey, number }, offset, time: 1 }, key)
}
