import { parentPort } from 'node:worker_threads'
import { systemTimers } from '../../src/runtime/timers.ts'
import { answerCalls, storageError } from '../../src/store/index.ts'

/** Calls that fail as those of files and blobs do when the disk refuses. */
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

  /** Settles after the calls that follow it have come. */
  async wait(value: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 20))
    return value
  }

  /** Ends the thread, as running out of memory does. */
  end(): void {
    process.exit(1)
  }

  close(): void {}
}

if (parentPort !== null) answerCalls(parentPort, systemTimers, () => new RefusedCalls())
