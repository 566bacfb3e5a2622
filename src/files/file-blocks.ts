import type { MessagePort } from 'node:worker_threads'
import { limits } from '../base/limits.ts'
import type { Timers } from '../runtime/timers.ts'
import type { CalledThread } from '../store/index.ts'
import type { ArrivedBlock, FileStore } from './thread/index.ts'
import { parseCid } from './unixfs/index.ts'

interface FileBlocksOptions {
  readonly thread: Pick<CalledThread<FileStore>, 'call' | 'link'>
  readonly timers: Timers
  /** Milliseconds that a download waits for a block. */
  readonly timeoutMs: () => number
}

/** A block that downloads wait for. */
interface AwaitedBlock {
  readonly cid: Uint8Array
  readonly settle: Set<(hasArrived: boolean) => void>
}

/** Downloads that wait for blocks of other nodes. These are exchanged by another thread, over a link. */
export class FileBlocks {
  readonly #options: FileBlocksOptions
  readonly #awaited = new Map<string, AwaitedBlock>()
  #isClosed = false

  constructor(options: FileBlocksOptions) {
    this.#options = options
  }

  /** The port for a `LinkedBlocks` in the thread that exchanges blocks with other nodes. Replaces an earlier link. */
  link(): Promise<MessagePort> {
    return this.#options.thread.link()
  }

  /** Reports whether there is room again for wanted blocks. */
  checkRoom(): Promise<void> {
    return this.#options.thread.call('checkRoom', [])
  }

  /** A block has arrived that was asked for. */
  arrived({ arrived }: ArrivedBlock): void {
    this.#settle(keyOf(arrived), true)
  }

  /**
   * Waits for a block of another node. Resolves to whether it has arrived in time; without a link or peers it does not.
   */
  waitFor(text: string): Promise<boolean> {
    const cid = parseCid(text)?.bytes
    if (cid === undefined || this.#isClosed) return Promise.resolve(false)
    const key = keyOf(cid)
    const known = this.#awaited.get(key)
    if (known !== undefined) return this.#wait(key, known)
    if (this.#awaited.size >= limits.awaitedBlocks) return Promise.resolve(false)
    const awaited = { cid, settle: new Set<(hasArrived: boolean) => void>() }
    this.#awaited.set(key, awaited)
    const waiting = this.#wait(key, awaited)
    void this.#ask(key, cid)
    return waiting
  }

  close(): void {
    this.#isClosed = true
    for (const key of this.#awaited.keys()) this.#settle(key, false)
  }

  async #ask(key: string, cid: Uint8Array): Promise<void> {
    try {
      const asked = await this.#options.thread.call('askBlock', [cid])
      if (asked !== 'asked') this.#settle(key, asked === 'stored')
    } catch {
      // The call has reported it.
      this.#settle(key, false)
    }
  }

  #wait(key: string, awaited: AwaitedBlock): Promise<boolean> {
    const { timers, timeoutMs } = this.#options
    return new Promise((resolve) => {
      const done = (hasArrived: boolean): void => {
        timers.clear(timer)
        awaited.settle.delete(done)
        if (awaited.settle.size === 0 && this.#awaited.delete(key) && !hasArrived) this.#unask(awaited.cid)
        resolve(hasArrived)
      }
      const timer = timers.setTimeout(() => done(false), timeoutMs())
      awaited.settle.add(done)
    })
  }

  #unask(cid: Uint8Array): void {
    // A thread that has ended has forgotten what was asked for.
    if (!this.#isClosed) this.#options.thread.call('unaskBlock', [cid]).catch(() => {})
  }

  #settle(key: string, hasArrived: boolean): void {
    for (const done of this.#awaited.get(key)?.settle ?? []) done(hasArrived)
  }
}

/** The key of a CID in the map of awaited blocks. */
function keyOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}
