import { type FactEvent, WinningFacts } from '../../src/facts/index.ts'
import { factOf } from '../../src/files/facts.ts'
import { type Block, parseCid } from '../../src/files/unixfs/index.ts'
import { nodeAppId } from '../../src/identity/index.ts'
import type { PinReason, Reading } from '../../src/store/port/index.ts'
import { readLines } from './event-lines.ts'
import { SimBlocks, type SimBlocksOptions } from './sim-blocks.ts'
import type { SimStore } from './sim-store.ts'

/** Selects the facts of all nodes. */
export const factQuery = {
  query: `FROM ('files' | 'ans' | 'event_routing') & appId(${nodeAppId})`,
  appId: nodeAppId,
  via: 'node',
} as const

/** An event with a fact, as queries return it. */
export interface StoredFact extends FactEvent {
  readonly offset: number
  readonly timestamp: number
}

export interface SimFilesOptions extends SimBlocksOptions {
  readonly disk: SimStore
  readonly fail: (error: unknown) => void
}

/** The names and files of a node: follows the facts of all nodes, and pins what they name. */
export class SimFiles {
  readonly blocks: SimBlocks
  facts = new WinningFacts<StoredFact>()
  readonly #options: SimFilesOptions
  /** The CIDs that are pinned, by owner. */
  readonly #pinned = new Map<string, string>()
  #offsets: Record<string, number> = {}
  #reading: Reading | undefined

  constructor(options: SimFilesOptions) {
    this.#options = options
    this.blocks = new SimBlocks(options)
  }

  /** The CIDs of the files that are kept. */
  get pinned(): ReadonlySet<string> {
    return new Set(this.#pinned.values())
  }

  /** Follows the facts that it does not know yet. */
  start(): void {
    const { disk, fail } = this.#options
    const reading = disk.store.start('subscribe', { ...factQuery, lowerBound: this.#offsets })
    this.#reading = reading
    readLines(reading, (line) => {
      const event = factIn(line)
      if (event !== undefined && this.#reading === reading) this.#add(event)
    }).catch(fail)
  }

  stop(): void {
    const reading = this.#reading
    this.#reading = undefined
    reading?.cancel()
  }

  /** Starts from nothing the next time: its node has lost events. */
  forget(): void {
    this.facts = new WinningFacts()
    this.#offsets = {}
    for (const owner of [...this.#pinned.keys()]) this.#pin(owner, undefined)
  }

  /** Stores the blocks of a file. Its fact is published afterwards. */
  upload(blocks: readonly Block[]): void {
    this.blocks.add(blocks)
  }

  #add(event: StoredFact): void {
    this.#offsets[event.stream] = event.offset
    if (!this.facts.add(event)) return
    const fact = factOf(event)
    if (fact?.kind === 'name') this.#pin(`name ${fact.name}`, fact.cid, { kind: 'name', lamport: event.lamport })
    if (fact?.kind === 'upload')
      this.#pin(`upload ${fact.cid}`, fact.isPinned ? fact.cid : undefined, { kind: 'upload', lamport: event.lamport })
    this.blocks.wantsChanged()
  }

  #pin(owner: string, cid: string | undefined, reason?: PinReason): void {
    const { store } = this.blocks
    const [before, after] = [this.#pinned.get(owner), cid].map((text) => text && parseCid(text)?.bytes)
    if (after) store.pin(owner, after, reason)
    if (before && this.#pinned.get(owner) !== cid) store.unpin(owner, before)
    if (cid === undefined) this.#pinned.delete(owner)
    else this.#pinned.set(owner, cid)
  }
}

/** The event with a fact in a line; undefined for a line of another type. */
export function factIn(line: string): StoredFact | undefined {
  return line.startsWith('{"type":"event"') ? (JSON.parse(line) as StoredFact) : undefined
}
