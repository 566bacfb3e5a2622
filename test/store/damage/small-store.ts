import { join } from 'node:path'
import { format } from '../../../src/base/format.ts'
import { tuning } from '../../../src/base/tuning.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { AppendRequest } from '../../../src/store/port/index.ts'
import { LogReader, LogWriter } from '../../../src/store/sqlite/index.ts'
import { packed } from '../../support/events.ts'

/** Keys and time are fixed, so that signatures are reproducible. */
export const ownKey = new KeyPair(Buffer.alloc(32, 1))
export const otherKey = new KeyPair(Buffer.alloc(32, 2))
export const time = 1_700_000_000_000_000

export function openWriter(file: string, key: KeyPair = ownKey): LogWriter {
  return new LogWriter({ file, topic: 't', kind: 'live', key, now: () => time, random: systemRandom })
}

/**
 * A store of a hundred events with everything that a large one has: chunks and blocks end after a few events. The code
 * is the same, but there are so few bits that each of them can be flipped.
 */
Object.assign(format, { eventsPerCheckpoint: 8, eventsPerBlock: 3 })
Object.assign(tuning, { compressFromBytes: 512 })

export function request(count: number, from: number, stream = 0, text = ''): AppendRequest {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: (from + i) % 5 === 2 ? 'rare' : 'app',
    tags: (from + i) % 4 === 3 ? ['all', `id:${from + i}`] : ['all'],
    payload: JSON.stringify(`${text}${from + i}`),
  }))
  return { ...packed(events), streams: new Uint32Array(count).fill(stream) }
}

export interface SmallStore {
  readonly file: string
  /** A chunk of another node to be received: a waiting chunk follows it, and one of its payloads is redacted. */
  readonly nextChunk: Uint8Array
}

/** A store with a few rows in every table, so that everything can be damaged. */
export function buildSmallStore(folder: string): SmallStore {
  const file = join(folder, 'small.db')
  const { chunks, redactions } = eventsOfAnotherNode(join(folder, 'other.db'))
  const [first, second, third] = chunks as [Uint8Array, Uint8Array, Uint8Array]
  const writer = openWriter(file)
  for (const [from, count] of [
    [0, 8],
    [8, 3],
    [11, 7],
    [18, 8],
  ] as const)
    writer.append([request(count, from)])
  writer.sealAll()
  writer.prune(0, 8)
  writer.redact(0, [9])
  writer.append([request(3, 26), request(2, 0, 7)])
  writer.receive(first)
  writer.append([request(2, 29)])
  writer.append([request(5, 2, 7, 'x'.repeat(100))])
  writer.receive(third, { before: readChunk(second).signedHead })
  for (const redaction of redactions) writer.applyRedactions([redaction])
  writer.redact(0, [27])
  writer.append([request(1, 31)])
  writer.close()
  return { file, nextChunk: second }
}

/** Three consecutive chunks, and redactions of payloads in the first two. */
function eventsOfAnotherNode(file: string): { chunks: Uint8Array[]; redactions: Uint8Array[] } {
  const writer = openWriter(file, otherKey)
  const reader = new LogReader(file, writer.counts, otherKey.publicKey, systemClock)
  try {
    for (const [from, count] of [
      [0, 3],
      [3, 6],
      [9, 8],
      [17, 2],
    ] as const)
      writer.append([request(count, from)])
    const chunks = [0, 9, 17].map((from) => reader.chunk(0, from, writer.head(0)) as Uint8Array)
    return { chunks, redactions: [2, 11].map((offset) => writer.redact(0, [offset])) }
  } finally {
    reader.close()
    writer.close()
  }
}
