import type { PublicKey } from '../../identity/index.ts'
import { nameOfStream, type OwnComparison } from '../../replication/index.ts'
import type { Effect, Sync, TableRow } from '../../sync/index.ts'
import type { PeerInput } from './peer-input.ts'
import type { ReplicationGate } from './replication-gate.ts'

interface OwnStreamsOptions {
  readonly node: PublicKey
  readonly gate: ReplicationGate | undefined
  readonly input: PeerInput
  readonly sync: Sync
}

/** Tells the gate what peers have of the own streams, and what becomes of them here. */
export class OwnStreams {
  readonly #options: OwnStreamsOptions

  constructor(options: OwnStreamsOptions) {
    this.#options = options
  }

  async compare({ from, heads, areAll }: Extract<Effect, { do: 'compare-own' }>, now: () => number): Promise<Effect[]> {
    const { gate, node, input, sync } = this.#options
    const compared = await input.compareOwn(heads, node)
    if (compared === undefined) return sync.disconnect(from, 'badHead', now())
    if (!areAll) {
      for (const own of compared) if (this.#isBehind(own)) gate?.behind(from, own)
      return []
    }
    // A peer that has nothing of this node cannot tell whether others have more.
    const hasEvents = compared.length > 0 || ![...sync.rows()].some((row) => this.#isOwn(row))
    if (hasEvents) gate?.compared(from, compared)
    return []
  }

  /** Tells the gate when own events were adopted, or when an own stream was frozen. */
  changed(row: TableRow | undefined, isStored: boolean): void {
    const { gate } = this.#options
    if (gate === undefined || row === undefined || !this.#isOwn(row)) return
    if (row.frozen) gate.froze(row.key.number)
    else if (isStored) gate.adopted(row.key.number, row.count)
  }

  #isOwn({ key }: TableRow): boolean {
    return Buffer.compare(key.node, this.#options.node) === 0
  }

  /** Whether a peer still has more of an own stream: events may have been adopted while it was compared. */
  #isBehind({ stream: number, count, is }: OwnComparison): boolean {
    const row = this.#options.sync.rowOf(nameOfStream({ node: this.#options.node, number }))
    return is === 'longer' && row?.frozen !== true && (row?.count ?? 0) < count
  }
}
