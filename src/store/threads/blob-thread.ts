import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../assert.ts'
import { BlobStore } from '../blobs.ts'
import { type ErrorMessage, open, toMessage } from './messages.ts'

export interface BlobData {
  readonly file: string
}

export type BlobCall = 'get' | 'list' | 'put' | 'delete' | 'close'
export interface ToBlobs {
  readonly id: number
  readonly call: BlobCall
  readonly args: readonly unknown[]
}
export type FromBlobs = { readonly id: number; readonly result?: unknown; readonly error?: ErrorMessage }

/** The thread with the blobs of apps: a large one must not keep events waiting. */
const port = parentPort
assert(port !== null, 'blobs have a thread of their own')
open(port, () => {
  const store = new BlobStore((workerData as BlobData).file, Date.now)
  port.on('message', ({ id, call, args }: ToBlobs) => {
    try {
      const result = (store[call] as (...args: readonly unknown[]) => unknown)(...args)
      port.postMessage({ id, result } satisfies FromBlobs)
    } catch (error) {
      port.postMessage({ id, error: toMessage(error) } satisfies FromBlobs)
    }
  })
})
