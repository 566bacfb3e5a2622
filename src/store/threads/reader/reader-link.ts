import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { PostSignal } from '../post-signal.ts'

/** One end of the link between the writer and a reader thread. */
export interface ReaderLink {
  readonly port: MessagePort
  /** The signal that is raised for every message that must not wait for the slice of a long job. */
  readonly posts: SharedArrayBuffer
}

/** A new link: the end of the writer, and that of the reader thread. */
export function newLink(): [ReaderLink, ReaderLink] {
  const { port1, port2 } = new MessageChannel()
  const posts = new PostSignal().memory
  return [
    { port: port1, posts },
    { port: port2, posts },
  ]
}

/** Wakes a reader thread after commits. */
export class ReaderWaker {
  readonly #port: MessagePort
  readonly #posts: PostSignal

  constructor({ port, posts }: ReaderLink) {
    this.#port = port
    this.#posts = new PostSignal(posts)
  }

  wake(): void {
    this.#port.postMessage(null)
    this.#posts.raise()
  }

  close(): void {
    this.#port.close()
  }
}
