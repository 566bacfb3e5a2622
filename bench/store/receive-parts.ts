import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { checkContents } from '../../src/protocol/check-frame.ts'
import { heads, readVerifiedChunk } from '../../src/protocol/index.ts'
import { hashThrough, readChunk } from '../../src/replication/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { ChunkVerifier, LogWriter, type VerifiedChunk } from '../../src/store/sqlite/index.ts'
import { packRecords } from '../../src/store/sqlite/rows/tail-row.ts'
import { median } from '../start/statistics.ts'
import { interleave, processorTime } from './measure.ts'
import { chunksOf, topic } from './received-chunks.ts'
import { figure, type Line } from './report.ts'
import type { Workspace } from './workspace.ts'

const rounds = 7
const chunksPerRound = 8
const events = chunksPerRound * format.eventsPerCheckpoint

/** The parts of receiving, one after the other in this thread. Only the last one is work of the writer. */
export async function partLines(workspace: Workspace): Promise<Line[]> {
  const lines: Line[] = []
  for (const size of [128, 1]) {
    const chunks = await chunksOf((rounds + 1) * chunksPerRound, size)
    const turn = (round: number): readonly Uint8Array[] =>
      chunks.slice(round * chunksPerRound, (round + 1) * chunksPerRound)
    const parsed = chunks.map((chunk) => readChunk(chunk))
    const verifier = new ChunkVerifier('live')
    const verified = chunks.map((bytes) => verifier.check({ bytes }) as VerifiedChunk)
    const writer = new LogWriter({
      file: workspace.newFile(),
      topic,
      kind: 'live',
      key: KeyPair.generate(systemRandom),
      now: nowMicros,
      random: systemRandom,
    })
    const each = (work: (index: number, chunk: Uint8Array) => void) => (round: number) =>
      processorTime(() => {
        for (const [i, chunk] of turn(round).entries()) work(round * chunksPerRound + i, chunk)
      })
    const at = (index: number) => parsed[index] as (typeof parsed)[number]
    const times = await interleave(rounds, {
      parsing: each((_, chunk) => void readVerifiedChunk(chunk)),
      'labels and payloads': each((i) => checkContents(at(i).frames)),
      signature: each((i) => void heads.verify(at(i).signedHead)),
      chain: each((i) => void hashThrough(at(i).frames, at(i).head.hash)),
      compressing: each((i, chunk) => void packRecords(chunk.subarray(at(i).frames[0]?.record[0]))),
      storing: (round) =>
        processorTime(() => {
          const steps = writer.receiveVerified(verified.slice(round * chunksPerRound, (round + 1) * chunksPerRound))
          while (steps.next().done !== true);
        }),
    })
    writer.close()
    for (const [part, ms] of Object.entries(times))
      lines.push(figure(`frames of ${size}: ${part}`, (1000 * median(ms)) / events, 'µs', undefined, 'per event'))
  }
  return lines
}
