import { deepEqual } from 'node:assert/strict'
import { runToEnd } from '../../src/aql/index.ts'
import { makeQueryJob } from '../../src/events/query/query-job.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogReader, LogWriter } from '../../src/store/sqlite/index.ts'
import { SealedBlock } from '../../src/store/sqlite/read/sealed-block.ts'
import { type BareBlock, decompressed, payloadsAt, StoredBlocks } from '../store/bare.ts'
import { EventSource } from '../store/events.ts'
import { interleave, time } from '../store/measure.ts'
import { atLeast, type Line, speed } from '../store/report.ts'
import type { Workspace } from '../store/workspace.ts'

interface Measurement {
  readonly id: number
  readonly value: number
}

/** The number of results, and an aggregate over them. */
interface Found {
  count: number
  sum: number
}

/** A query and its hand-written counterpart over the blocks of the store. */
interface StoredSubject {
  readonly name: string
  readonly stages: string
  /** Processes a payload; returns whether its event is a result. */
  byHand(payload: Measurement, found: Found): boolean
}

const subjects: readonly StoredSubject[] = [
  {
    name: 'FILTER over a store',
    stages: 'FILTER _.value > 50',
    byHand: ({ value }) => value > 50,
  },
  {
    name: 'AGGREGATE over a store',
    stages: 'AGGREGATE SUM(_.id)',
    byHand: ({ id }, found) => {
      found.sum += id
      return false
    },
  },
]

/** Compares queries over a store on disk with a loop over its decompressed blocks. */
export async function storedLines(workspace: Workspace, events: number, rounds: number): Promise<Line[]> {
  const { file, key } = workspace.newStore()
  const source = new EventSource({ unique: false })
  const writer = new LogWriter({
    file,
    topic: 'bench',
    kind: 'live',
    key,
    now: () => 1_700_000_000_000_000,
    random: systemRandom,
  })
  for (const request of source.requests(Math.ceil(events / 1024), 1024)) writer.append([request])
  writer.sealAll()
  const stored = new StoredBlocks(file)
  const { blocks, count } = stored.window(0, Number.POSITIVE_INFINITY)
  stored.close()
  const places = blocks.map((block) => placesOf(block))
  const lines: Line[] = []
  for (const subject of subjects) {
    const query = `FEATURES(aggregate) FROM '${source.run}' ${subject.stages}`
    const run = (): Found => answered(file, writer, key, query)
    deepEqual(run().count, byHand(subject, blocks, places).count + (subject.stages.startsWith('AGG') ? 1 : 0))
    const measured = await interleave(rounds, {
      ours: () => time(run),
      bare: () => time(() => byHand(subject, blocks, places)),
    })
    const bare = { bareName: 'by hand over its decompressed blocks', operations: count, unit: 'events' }
    lines.push(speed({ name: subject.name, goal: atLeast(0.5), ...measured, ...bare }))
  }
  writer.close()
  return lines
}

function answered(file: string, writer: LogWriter, key: { publicKey: LogReaderKey }, query: string): Found {
  const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
  const request = { query, appId: 'a', via: 'http', order: 'asc', lowerBound: {}, upperBound: undefined }
  const job = runToEnd(makeQueryJob(reader, request, systemClock))
  let count = -1
  for (let state = 'busy'; state !== 'done'; ) {
    job.begin()
    state = job.run(Number.POSITIVE_INFINITY)
    const lines = Buffer.from(job.take())
    for (let at = lines.indexOf(newline); at >= 0; at = lines.indexOf(newline, at + 1)) count++
  }
  reader.close()
  return { count, sum: 0 }
}

type LogReaderKey = ConstructorParameters<typeof LogReader>[2]

interface Places {
  readonly payloads: Int32Array
  readonly lines: Int32Array
}

function placesOf(block: BareBlock): Places {
  return { payloads: payloadsAt(block), lines: new SealedBlock(decompressed(block), block.first).lines }
}

const newline = 0x0a
const output = Buffer.alloc(128 * 1024)

function byHand(subject: StoredSubject, blocks: readonly BareBlock[], places: readonly Places[]): Found {
  const found = { count: 0, sum: 0 }
  let length = 0
  for (const [i, block] of blocks.entries()) {
    const bytes = decompressed(block)
    const { payloads, lines } = places[i] as Places
    for (let at = 0; at < payloads.length; at += 2) {
      const payload = JSON.parse(bytes.toString('utf8', payloads[at], payloads[at + 1])) as Measurement
      if (!subject.byHand(payload, found)) continue
      const [start, end] = [lines[at / 2] as number, lines[at / 2 + 1] as number]
      if (length + end - start > output.length) length = 0
      bytes.copy(output, length, start, end)
      length += end - start
      found.count++
    }
  }
  return found
}
