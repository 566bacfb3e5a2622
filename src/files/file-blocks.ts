import { limits } from '../base/limits.ts'
import type { Timers } from '../runtime/timers.ts'
import type { CalledThread } from '../store/index.ts'
import type { FetchedBlock, FileStore, WantedList } from './thread/index.ts'
import type { TransferThrottle } from './transfer-throttle.ts'
import { parseCid } from './unixfs/index.ts'

/** What fetches blocks from other nodes for downloads. */
export interface BlockSource {
  /** Asks peers for a block. Returns false when there are none. */
  ask(cid: Uint8Array): boolean
  /** No download waits for the block any more. */
  unask(cid: Uint8Array): void
}

interface FileBlocksOptions {
  readonly thread: Pick<CalledThread<FileStore>, 'call'>
  readonly timers: Timers
  /** Slows transfers down while events are published. */
  readonly throttle: Pick<TransferThrottle, 'pass'>
  /** Milliseconds that a download waits for a block. */
  readonly timeoutMs: () => number
}

/** A block that downloads wait for. */
interface AwaitedBlock {
  readonly cid: Uint8Array
  readonly settle: Set<(hasArrived: boolean) => void>
}

/** The blocks of files as the exchange with other nodes uses them, and downloads that wait for blocks on their way. */
export class FileBlocks {
  readonly #options: FileBlocksOptions
  readonly #awaited = new Map<string, AwaitedBlock>()
  readonly #listeners = new Set<() => void>()
  #source: BlockSource | undefined
  #isClosed = false

  constructor(options: FileBlocksOptions) {
    this.#options = options
  }

  /** Sets what fetches blocks. Without it, or without peers, a download of missing content fails at once. */
  setSource(source: BlockSource | undefined): void {
    this.#source = source
  }

  /** Calls a listener when further blocks are wanted. Returns a function that removes it. */
  onWanted(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Notifies of wanted blocks after a call of the files thread. */
  readonly notify = (hasNewWants: boolean): void => {
    if (hasNewWants) for (const listener of this.#listeners) listener()
  }

  /** Wanted blocks, named content first, then the newest upload: the first ones, or those after the last list. */
  wanted(from: 'start' | 'next'): Promise<WantedList> {
    return this.#options.thread.call('wantedBlocks', [from])
  }

  /** Verifies a block of another node, and stores it if it is wanted or a download waits for it. */
  async receive(cid: Uint8Array, bytes: Uint8Array): Promise<FetchedBlock> {
    const key = keyOf(cid)
    await this.#options.throttle.pass(bytes.length)
    const received = await this.#options.thread.call('receiveBlock', [cid, bytes, this.#awaited.has(key)])
    if (received.outcome === 'stored') this.#settle(key)
    this.notify(received.newWants.length > 0)
    return received
  }

  /** The bytes of a block for another node, if it is stored. */
  async read(cid: Uint8Array): Promise<Uint8Array | undefined> {
    const bytes = await this.#options.thread.call('readBlock', [cid])
    await this.#options.throttle.pass(bytes?.length ?? 0)
    return bytes
  }

  /** Reports whether there is room again for wanted blocks. */
  checkRoom(): Promise<void> {
    return this.#options.thread.call('checkRoom', [])
  }

  /** Waits for a block that is on its way. Resolves to whether it has arrived in time. */
  waitFor(text: string): Promise<boolean> {
    const cid = parseCid(text)?.bytes
    if (cid === undefined || this.#isClosed) return Promise.resolve(false)
    const key = keyOf(cid)
    const known = this.#awaited.get(key)
    if (known === undefined && this.#awaited.size >= limits.awaitedBlocks) return Promise.resolve(false)
    const awaited = known ?? { cid, settle: new Set() }
    // Before it is asked for: the answer may come at once.
    this.#awaited.set(key, awaited)
    if (known === undefined && this.#source?.ask(cid) !== true) {
      this.#awaited.delete(key)
      return Promise.resolve(false)
    }
    return this.#wait(key, awaited)
  }

  close(): void {
    this.#isClosed = true
    for (const { settle } of this.#awaited.values()) for (const done of settle) done(false)
  }

  #wait(key: string, awaited: AwaitedBlock): Promise<boolean> {
    const { timers, timeoutMs } = this.#options
    return new Promise((resolve) => {
      const done = (hasArrived: boolean): void => {
        timers.clear(timer)
        awaited.settle.delete(done)
        if (awaited.settle.size === 0 && this.#awaited.delete(key) && !hasArrived) this.#source?.unask(awaited.cid)
        resolve(hasArrived)
      }
      const timer = timers.setTimeout(() => done(false), timeoutMs())
      awaited.settle.add(done)
    })
  }

  #settle(key: string): void {
    for (const done of this.#awaited.get(key)?.settle ?? []) done(true)
  }
}

/** The key of a CID in the map of awaited blocks. */
function keyOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}
