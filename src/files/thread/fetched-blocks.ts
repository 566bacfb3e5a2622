import { limits } from '../../base/limits.ts'
import { tuning } from '../../base/tuning.ts'
import type {
  BackgroundReporter,
  BlockStore,
  DiskReserve,
  FetchedBlock,
  WantedList,
  WantPlace,
} from '../../store/index.ts'
import type { Batches } from './batches.ts'

interface Parts {
  readonly blocks: BlockStore
  readonly batches: Batches
  readonly reserve: DiskReserve
  readonly background: BackgroundReporter
}

/** The blocks that are fetched from other nodes, and those that are read for them. */
export class FetchedBlocks {
  readonly #parts: Parts
  /** The end of the last list of wanted blocks. */
  #listedTo: WantPlace | undefined
  /** Received bytes that are not committed yet. */
  #uncommitted = 0
  /** The number of rollbacks at the last call of `takeNewWants`. */
  #rollbacks = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Lists wanted blocks, the first ones or those after the last list; none while the disk has no room for them. */
  wanted(from: 'start' | 'next'): WantedList {
    const { blocks } = this.#parts
    const found = blocks.wanted(limits.wantsPerList, from === 'start' ? undefined : this.#listedTo)
    if (!this.#hasRoom(found.length > 0)) return { cids: [], isEnd: true, hasRoom: false }
    this.#listedTo = found.at(-1)?.place
    return { cids: found.map(({ cid }) => cid), isEnd: found.length < limits.wantsPerList, hasRoom: true }
  }

  /** Verifies a block, and stores it if it is wanted or `isAsked`. A crash before the commit makes it wanted again. */
  async receive(cid: Uint8Array, bytes: Uint8Array, isAsked: boolean): Promise<FetchedBlock> {
    const { blocks, batches } = this.#parts
    if (!this.#hasRoom(true)) return { outcome: 'noRoom', newWants: [] }
    const received = batches.change(() => blocks.receive(cid, bytes, isAsked))
    if (received.outcome === 'stored') this.#uncommitted += bytes.length
    // The last wanted block completes a file.
    if (this.#uncommitted >= tuning.fetchedCommitBytes || blocks.wanted(1).length === 0) await this.#commit()
    return received
  }

  /** Whether blocks have become wanted since the last call; a rollback makes received ones wanted again. */
  takeNewWants(): boolean {
    const { blocks, batches } = this.#parts
    const isRolledBack = batches.rollbacks !== this.#rollbacks
    this.#rollbacks = batches.rollbacks
    return blocks.takeNewWants() || isRolledBack
  }

  /** Reports whether there is room again for blocks that are wanted. */
  checkRoom(): void {
    this.#hasRoom(this.#parts.blocks.wanted(1).length > 0)
  }

  async #commit(): Promise<void> {
    this.#uncommitted = 0
    await this.#parts.batches.commit()
  }

  /** A full disk is reported only while something is to be fetched. */
  #hasRoom(isNeeded: boolean): boolean {
    const { reserve, background } = this.#parts
    const problem = reserve.check()
    if (problem !== undefined && isNeeded) background.failed('fetch_files', new Error(problem))
    else background.succeeded('fetch_files')
    return problem === undefined
  }
}
