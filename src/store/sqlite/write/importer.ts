import { randomSeed } from '../../../protocol/index.ts'
import {
  checkImport,
  growOwn,
  type Imported,
  type ImportPlan,
  type ImportRequest,
  importedFrames,
  planImport,
} from '../../../replication/index.ts'
import { OriginRows } from '../rows/origins.ts'
import { rowKey } from '../rows/row-key.ts'
import { tailRow } from '../rows/tail-row.ts'
import type { LogState } from './log-state.ts'

/** Imports the events of dumps, each event once. */
export class Importer {
  readonly #log: LogState

  constructor(log: LogState) {
    this.#log = log
  }

  /** Stores the events that are new, with their origins, in one transaction. */
  import(given: ImportRequest): Imported {
    const log = this.#log
    // Between threads a buffer becomes a plain array.
    const { buffer, byteOffset, length } = given.source
    const request = { ...given, source: Buffer.from(buffer, byteOffset, length) }
    // Before the transaction, since a failed one reloads all streams.
    checkImport(request, log.options)
    return log.transaction(() => {
      const origins = new OriginRows(log.database)
      const plans = planImport(request, (origin) => origins.has(origin), log.options)
      if (plans.length === 0) return { added: 0 }
      const lamport = log.clock.take(request.origins.length)
      for (const plan of plans) this.#add(request, plan, lamport, origins)
      return { added: plans.reduce((sum, { events }) => sum + events.length, 0) }
    })
  }

  #add(request: ImportRequest, plan: ImportPlan, lamport: number, origins: OriginRows): void {
    const log = this.#log
    const state = log.stream(plan.stream) ?? log.addStream(plan.stream)
    log.changed.add(state)
    const seed = (): Uint8Array => randomSeed(log.options.random)
    for (const frame of importedFrames(request, plan, state.count, lamport, seed)) {
      const { linkable, record, count, events } = frame
      const [first, before] = [state.count, state.chain.hash]
      growOwn(state, { count, lamport: frame.lamport, chain: state.chain.after(linkable), bytes: record.length })
      // Linked at once, since the next frame reuses the places of its payloads.
      state.chain.link()
      log.insertTail(tailRow(rowKey(state.number, first), count, frame.lamport, { is: 'before', hash: before }, record))
      for (const [i, event] of events.entries()) {
        const origin = request.origins[event]
        if (origin !== undefined) origins.put(origin, rowKey(state.number, first + i))
      }
    }
  }
}
