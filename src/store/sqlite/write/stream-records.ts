import { recordsOf, type StreamNumber, type StreamRecords } from '../../port/index.ts'
import type { LogState } from './log-state.ts'
import { storedPrune } from './prunable-stream.ts'
import { redactionsBetween } from './redactions.ts'

/** The prune record of a stream, and the redaction records of a range of its offsets. */
export function streamRecords(log: LogState, stream: StreamNumber, from: number, to: number): StreamRecords {
  log.reopenIfBroken()
  const state = [...log.streams].find(({ number }) => number === stream)
  if (state === undefined) return { redactions: [] }
  const prune = storedPrune(log, state)
  return { ...(prune && { prune }), ...recordsOf(redactionsBetween(log.database, stream, from, to)) }
}
