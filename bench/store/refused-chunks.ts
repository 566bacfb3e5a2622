import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import {
  ByteWriter,
  encodeChunk,
  encodeLabelsExactly,
  FrameBuilder,
  genesis,
  type Hash,
  hashAfter,
  heads,
} from '../../src/protocol/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { ChunkVerifier, LogWriter } from '../../src/store/sqlite/index.ts'
import { processorTime } from './measure.ts'
import { topic } from './received-chunks.ts'
import { atMost, figure, type Line, millis } from './report.ts'
import type { Workspace } from './workspace.ts'

const runs = 5

interface Made {
  readonly events: number
  readonly tags: readonly string[]
  readonly payload: string
  readonly lastPayload?: string
  /** Signs another hash than that of the frames. */
  readonly isUnlinked?: boolean
}

/** The largest chunks that are refused, and what they cost the verifier and the writer. */
const kinds: Readonly<Record<string, Made>> = {
  'many tags, the last one invalid': {
    events: format.eventsPerChunk,
    tags: [
      ...Array.from(
        { length: format.tagsPerEvent - 1 },
        (_, i) => `a tag with the number ${String(i).padStart(3, '0')}`,
      ),
      'a',
    ],
    payload: '1',
  },
  'large payloads, the last one invalid': {
    events: 1024,
    tags: ['a'],
    payload: JSON.stringify('x'.repeat(11_000)),
    lastPayload: '{"a":}',
  },
  'large payloads, not linked': {
    events: 1024,
    tags: ['a'],
    payload: JSON.stringify('x'.repeat(11_000)),
    isUnlinked: true,
  },
  'many tags, not linked': {
    events: format.eventsPerChunk,
    tags: Array.from({ length: format.tagsPerEvent }, (_, i) => `a tag with the number ${String(i).padStart(3, '0')}`),
    payload: '1',
    isUnlinked: true,
  },
}

export async function refusedLines(workspace: Workspace): Promise<Line[]> {
  const lines: Line[] = []
  for (const [kind, made] of Object.entries(kinds)) {
    const verifying: number[] = []
    const writing: number[] = []
    for (let run = 0; run < runs; run++) {
      const bytes = chunkOf(made)
      const verifier = new ChunkVerifier('live')
      const options = { topic, kind: 'live', now: nowMicros, random: systemRandom } as const
      const writer = new LogWriter({ ...options, file: workspace.newFile(), key: KeyPair.generate(systemRandom) })
      let checked: ReturnType<ChunkVerifier['check']> | undefined
      verifying.push(
        processorTime(() => {
          checked = verifier.check({ bytes })
        }),
      )
      writing.push(
        processorTime(() => {
          if (checked === undefined || 'state' in checked) return
          const steps = writer.receiveVerified([checked])
          const step = steps.next()
          if (step.done !== true || step.value[0]?.state !== 'malformed') throw new Error('the chunk was not refused')
        }),
      )
      writer.close()
    }
    lines.push(
      figure(
        `refused: ${kind}`,
        Math.max(...writing),
        'ms',
        atMost(5),
        'of the writer',
        `verifier: ${millis(Math.max(...verifying))}`,
      ),
    )
  }
  return lines
}

function chunkOf({ events, tags, payload, lastPayload = payload, isUnlinked = false }: Made): Buffer {
  const key = KeyPair.generate(systemRandom)
  const stream = { node: key.publicKey, number: 0 }
  const labels = encodeLabelsExactly({ appId: 'com.example.bench', tags })
  const records: Buffer[] = []
  let hash: Hash = genesis(topic, stream)
  const builder = new FrameBuilder()
  for (let first = 0; first < events; ) {
    const count = Math.min(format.eventsPerFrame, events - first)
    for (let i = 0; i < count; i++) {
      const text = Buffer.from(first + i === events - 1 ? lastPayload : payload)
      const source = Buffer.concat([labels, text])
      builder.add(first + i + 1, 1, source, Int32Array.of(0, labels.length, labels.length, source.length), 0)
    }
    const record = new ByteWriter()
    hash = hashAfter(builder.finish(first, new Uint8Array(16), record), hash)
    records.push(record.copy())
    first += count
  }
  const signed = isUnlinked ? (String.fromCharCode(...Array.from({ length: 32 }, () => 7)) as Hash) : hash
  const head = { topic, stream, count: events, lamport: events, hash: signed, checkpoint: true, time: 1 }
  return encodeChunk(records, heads.sign(head, key))
}
