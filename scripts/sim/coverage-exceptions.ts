/** A branch of the rules that seeds need not reach. */
export interface CoverageException {
  readonly file: string
  /** How its source begins; without it the whole file. */
  readonly text?: string
  readonly reason: string
}

const noWaiting = 'chunks are received without the head before them, so none waits'
const noCaller = 'used by the store and by queries, not by the exchange between nodes'
const refusedBefore = 'nothing that leads here is accepted'

export const coverageExceptions: readonly CoverageException[] = [
  { file: 'src/replication/waiting-chunks.ts', reason: noWaiting },
  { file: 'src/replication/chunk-admission.ts', text: 'const { chunk } = next', reason: noWaiting },
  { file: 'src/replication/chunk-admission.ts', text: '|| stream === undefined', reason: noWaiting },
  { file: 'src/replication/chunk-admission.ts', text: '({ chunk }) => ', reason: noWaiting },
  { file: 'src/replication/chunk-admission.ts', text: '|| chunk.first === 0', reason: noWaiting },
  { file: 'src/replication/chunk-admission.ts', text: 'return { chunk, start: ', reason: noWaiting },
  { file: 'src/replication/chunk-verification.ts', text: 'function unlessMalformed', reason: noWaiting },
  { file: 'src/replication/streams.ts', text: 'throw clockError', reason: 'clocks are wrong by at most a year' },
  { file: 'src/replication/streams.ts', text: 'function requireSameTopic(', reason: noCaller },
  { file: 'src/replication/head-digest.ts', text: 'get size()', reason: noCaller },
  { file: 'src/replication/head-digest.ts', text: 'delete(', reason: noCaller },
  { file: 'src/replication/serving.ts', text: 'function tooLarge(', reason: refusedBefore },
  { file: 'src/replication/serving.ts', text: 'return tooLarge(', reason: refusedBefore },
  { file: 'src/replication/serving.ts', text: '? tooLarge(', reason: refusedBefore },
  { file: 'src/replication/total-order.ts', text: 'function compareEventKeys(', reason: noCaller },
]
