import { join } from 'node:path'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { AppendRequest } from '../../../src/store/port/index.ts'
import { LogReader, LogWriter } from '../../../src/store/sqlite/index.ts'
import { packed } from '../../support/events.ts'

export const largeKey = new KeyPair(Buffer.alloc(32, 6))
const otherKey = new KeyPair(Buffer.alloc(32, 7))
const time = 1_700_000_000_000_000

export function openLarge(file: string, key = largeKey): LogWriter {
  return new LogWriter({ file, topic: 'large', kind: 'live', key, now: () => time, random: systemRandom })
}

const ownStreams = 3

/** The unique tag of an event. */
export function tagOf(stream: number, offset: number): string {
  return `id:${stream}:${offset}`
}

function request(stream: number, number: number, first: number, count: number): AppendRequest {
  const events = Array.from({ length: count }, (_, i) => ({
    appId: (first + i) % 100 === 0 ? 'com.example.rare' : 'com.example.app',
    tags: ['all', `machine:${(first + i) % 17}`, tagOf(stream, first + i)],
    payload: JSON.stringify({
      n: first + i,
      state: (first + i) % 3 === 0 ? 'running' : 'idle',
      value: (first + i) / 7,
    }),
  }))
  return { ...packed(events), streams: new Uint32Array(count).fill(number) }
}

const batch = 1000

/** A store like that of a node after some time: mostly sealed, with pruned and redacted events, and a tail. */
export function buildLargeStore(folder: string, events: number): string {
  const file = join(folder, 'large.db')
  const writer = openLarge(file)
  const perStream = Math.ceil(events / (ownStreams + 1) / batch) * batch
  for (let first = 0; first < perStream; first += batch)
    for (let stream = 0; stream < ownStreams; stream++) writer.append([request(stream, stream, first, batch)])
  for (const chunk of chunksOfAnotherNode(join(folder, 'other.db'), perStream)) writer.receive(chunk)
  writer.sealAll()
  const [checkpoint] = writer.database.prepare('SELECT key FROM checkpoint ORDER BY key LIMIT 2').all().slice(1)
  writer.prune(0, Number(checkpoint?.['key']))
  writer.redact(1, [5])
  for (let i = 0; i < 50; i++) writer.append([request(0, 0, perStream + i, 1), request(1, 1, perStream + 3 * i, 3)])
  writer.append([request(2, 2, perStream, 700)])
  writer.redact(2, [perStream + 5])
  writer.close()
  return file
}

function chunksOfAnotherNode(file: string, events: number): Uint8Array[] {
  const writer = openLarge(file, otherKey)
  const reader = new LogReader(file, writer.counts, otherKey.publicKey, systemClock)
  try {
    for (let first = 0; first < events; first += batch) writer.append([request(ownStreams, 0, first, batch)])
    writer.append([request(ownStreams, 0, events, 300)])
    const starts = [0, ...reader.checkpoints(0).map(({ count }) => count)]
    return starts.flatMap((from) => reader.chunk(0, from, writer.head(0)) ?? [])
  } finally {
    reader.close()
    writer.close()
  }
}
