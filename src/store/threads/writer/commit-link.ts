import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { AppendedFrames } from '../../../replication/index.ts'

/** One end of the link by which the writer passes on the frames of its commits. */
export interface CommitLink {
  readonly port: MessagePort
  /** The bytes that were posted, and that the other end has not received yet. */
  readonly unread: SharedArrayBuffer
}

/** A new link: the end of the writer, and that of the listener. */
export function newCommitLink(): [CommitLink, CommitLink] {
  const { port1, port2 } = new MessageChannel()
  const unread = new SharedArrayBuffer(4)
  return [
    { port: port1, unread },
    { port: port2, unread },
  ]
}

/** The end of the writer. */
export class CommitSender {
  readonly #port: MessagePort
  readonly #unread: Int32Array

  constructor({ port, unread }: CommitLink) {
    this.#port = port
    this.#unread = new Int32Array(unread)
  }

  get unread(): number {
    return Atomics.load(this.#unread, 0)
  }

  /** Posts frames. Their memory is transferred, unless there are other listeners. */
  post(appended: readonly AppendedFrames[], isTransferred = true): void {
    const buffers = appended.flatMap(({ records = [] }) => records.map(({ buffer }) => buffer as ArrayBuffer))
    Atomics.add(this.#unread, 0, sizeOf(appended))
    this.#port.postMessage(appended, isTransferred ? buffers : [])
  }

  close(): void {
    this.#port.close()
  }
}

/** The end of the listener. */
export class CommitReceiver {
  readonly #port: MessagePort

  constructor({ port, unread: memory }: CommitLink, received: (appended: readonly AppendedFrames[]) => void) {
    this.#port = port
    const unread = new Int32Array(memory)
    port.on('message', (appended: readonly AppendedFrames[]) => {
      Atomics.sub(unread, 0, sizeOf(appended))
      received(appended)
    })
    // The threads of the store keep the process alive, not this.
    port.unref()
  }

  close(): void {
    this.#port.close()
  }
}

function sizeOf(appended: readonly AppendedFrames[]): number {
  let size = 0
  for (const { records = [] } of appended) for (const { length } of records) size += length
  return size
}
