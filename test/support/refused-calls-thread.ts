import { parentPort } from 'node:worker_threads'
import { systemTimers } from '../../src/runtime/timers.ts'
import { type LinkTarget, serveCalls, storageError } from '../../src/store/index.ts'

/** Calls that fail like those of files and blobs on a disk error. */
export class RefusedCalls {
  #ended = 0

  store(isRefused: boolean): void {
    if (isRefused) throw storageError(Object.assign(new Error('full'), { errcode: 13 }), 'file')
  }

  read(): void {
    throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
  }

  fail(): void {
    throw new Error('a defect')
  }

  /** Resolves after later calls have arrived. */
  async wait(value: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return value
  }

  /** The calls of another thread, which is told when they run. */
  link(post: (notice: unknown) => void): LinkTarget & { echo(text: string): Promise<string> } {
    const echo = async (text: string): Promise<string> => {
      post(text)
      return text
    }
    return { echo, ended: () => this.#ended++ }
  }

  /** The number of links that have ended. */
  endedLinks(): number {
    return this.#ended
  }

  /** Ends the thread, like running out of memory. */
  end(): void {
    process.exit(1)
  }

  /** From now on `close` fails. */
  refuseClose(): void {
    this.close = () => this.fail()
  }

  close(): void {}
}

if (parentPort !== null) serveCalls(parentPort, systemTimers, () => new RefusedCalls())
