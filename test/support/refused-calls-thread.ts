import { parentPort } from 'node:worker_threads'
import { systemTimers } from '../../src/runtime/timers.ts'
import { serveCalls, storageError } from '../../src/store/index.ts'

/** Calls that fail like those of files and blobs on a disk error. */
export class RefusedCalls {
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

  /** Ends the thread, like running out of memory. */
  end(): void {
    process.exit(1)
  }

  close(): void {}
}

if (parentPort !== null) serveCalls(parentPort, systemTimers, () => new RefusedCalls())
