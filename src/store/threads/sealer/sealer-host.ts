import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads'
import { limits } from '../../../base/limits.ts'
import { tuning } from '../../../base/tuning.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import { threadModule } from '../../../runtime/thread-module.ts'
import type { PostSignal } from '../post-signal.ts'
import { spawn, untilOpen } from '../spawn.ts'
import { Gate, toMessage } from '../thread-messages.ts'
import type { FromSealer, SealerData, SealerStart, ToSealer } from './sealer-thread.ts'

interface SealerHostOptions {
  readonly file: string
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>
  /** The signal that is raised for every message to the writer. */
  readonly posts: PostSignal
  /** Why no thread may be started any more. */
  readonly ended: () => Error | undefined
  readonly started: (sealer: Worker) => void
  readonly startFailed: (error: Error) => void
}

/**
 * Starts the sealer thread with its first task: a faster start of the store, and many nodes never seal anything. It gets
 * its tasks from the writer thread, not from here.
 */
export class SealerHost {
  readonly #options: SealerHostOptions
  readonly #channel = new MessageChannel()
  readonly #stopped = new Gate()
  #sealer: Worker | undefined
  /** Why it could not be started, and when the start is retried. */
  #failure: { readonly error: Error; readonly retryAt: number } | undefined

  constructor(options: SealerHostOptions) {
    this.#options = options
  }

  /** The port of the writer. */
  get port(): MessagePort {
    return this.#channel.port1
  }

  /** Open once the sealer has ended, so that the writer does not wait for it. */
  get ended(): Gate {
    return this.#stopped
  }

  /** Waits for the first task. */
  listen(): void {
    const port = this.#channel.port2
    const startWith = async (first: ToSealer): Promise<void> => {
      const error = await this.#start(first, () => port.off('message', startWith))
      if (error === undefined) return
      // The writer tries again with the next chunk.
      port.postMessage({ error: toMessage(error), task: first } satisfies FromSealer)
      this.#options.posts.raise()
    }
    port.on('message', startWith)
  }

  /** Lets the sealer finish its task: terminating a thread while it creates a zstd context aborts the process (Node 24). */
  async stop(): Promise<void> {
    this.#stopped.open()
    const sealer = this.#sealer
    if (sealer === undefined || sealer.threadId < 0) return
    const { timers } = this.#options.runtime
    await new Promise<void>((resolve) => {
      const timer = timers.setTimeout(resolve, tuning.sealerStopTimeoutMs)
      sealer.once('exit', () => {
        timers.clear(timer)
        resolve()
      })
      sealer.postMessage('close')
    })
    await sealer.terminate()
  }

  /** Starts the thread with its first task, or returns the error. Calls `opened` before it transfers the port. */
  async #start(first: ToSealer, opened: () => void): Promise<Error | undefined> {
    const { file, runtime, posts, ended, started, startFailed } = this.#options
    const reason = ended()
    if (reason !== undefined) return reason
    if (this.#failure !== undefined && runtime.clock.steadyMs() < this.#failure.retryAt) return this.#failure.error
    const data: SealerData = { file, posts: posts.memory }
    let sealer: Worker | undefined
    try {
      sealer = spawn(threadModule('sealer-thread', import.meta.url), data)
      this.#sealer = sealer
      await untilOpen(sealer)
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      this.#failure = { error, retryAt: runtime.clock.steadyMs() + limits.threadRetryMs }
      startFailed(error)
      await sealer?.terminate()
      return error
    }
    started(sealer)
    opened()
    const { port2: port } = this.#channel
    sealer.postMessage({ port, first } satisfies SealerStart, [port])
    return undefined
  }
}
