import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { assert } from '../../assert.ts'
import { ShoalError } from '../../errors.ts'
import { parsePrivateKey } from '../../identity/index.ts'
import { limits } from '../../limits.ts'
import { release } from '../../memory.ts'
import { restAfterWork } from '../../resting.ts'
import { nowMicros } from '../../time.ts'
import { type AppendRequest, LogWriter, SharedCounts } from '../log/index.ts'
import { releaseSealed } from '../log/sealing.ts'
import { type ErrorMessage, Gate, open, packAppended, toMessage, unpackRequest } from './messages.ts'
import type { FromSealer, ToSealer } from './sealer-thread.ts'

export interface WriterData {
  readonly file: string
  readonly topic: string
  readonly kind: 'live' | 'imported'
  readonly privateKey: string
  readonly counts: SharedArrayBuffer
  /** To the thread that seals. */
  readonly sealer: MessagePort
  /** To the thread that reads. */
  readonly commits: MessagePort
  /** Opened when the thread that seals is gone. */
  readonly unsealed: SharedArrayBuffer
}

/** What the writer is asked to do besides appending, by name. */
export type WriterCall =
  | 'receive'
  | 'prune'
  | 'applyPrune'
  | 'redact'
  | 'applyRedaction'
  | 'head'
  | 'dropIndexAt'
  | 'sealAll'
  | 'emptyLog'
  | 'close'

export type ToWriter =
  /** A request to append, by `packRequest`. */
  | ArrayBuffer
  /** To another thread that reads: the one before it has ended. */
  | { readonly commits: MessagePort }
  | { readonly id: number; readonly call: WriterCall; readonly args: readonly unknown[] }

interface WriterAnswer {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

/** What became of a commit, by `packAppended`; or of anything else. */
export type FromWriter = Float64Array | readonly WriterAnswer[]

/** How long nothing has to happen before what is there is sealed, in milliseconds. */
const idleMs = 250

/** How long to wait between two looks for what the sealer has done, in milliseconds. */
const pauseMs = 1

/** The thread with the only connection that writes: while it waits for the disk, requests gather and go into the next commit. */
class WriterThread {
  readonly #port: MessagePort
  readonly #writer: LogWriter
  readonly #sealer: MessagePort
  #commits: MessagePort
  readonly #unsealed: Gate
  /** Fires when nothing has happened for a while. */
  readonly #idle: NodeJS.Timeout
  #tidying = false
  /** How many chunks had ended when something to seal was looked for. */
  #chunksSeen = 0

  constructor(port: MessagePort, { file, topic, kind, privateKey, counts, sealer, commits, unsealed }: WriterData) {
    this.#port = port
    this.#writer = new LogWriter(
      { file, topic, kind, key: parsePrivateKey(privateKey), now: nowMicros },
      new SharedCounts(counts),
    )
    this.#sealer = sealer
    this.#commits = commits
    this.#unsealed = new Gate(unsealed)
    sealer.on('message', (message: FromSealer) => this.#tidied(message))
    port.on('message', (message: ToWriter) => this.#work(message))
    restAfterWork({ begins: () => this.#writer.rest() })
    this.#idle = setTimeout(() => this.#tidy(true), idleMs)
    this.#tidy(false)
  }

  #work(first: ToWriter): void {
    this.#catchUp()
    const appends: { id: number; request: AppendRequest }[] = []
    let bytes = 0
    for (let message: ToWriter | undefined = first; message !== undefined; message = this.#waiting(bytes)) {
      if (message instanceof ArrayBuffer) {
        const append = unpackRequest(message)
        appends.push(append)
        bytes += append.request.source.length
        continue
      }
      if ('commits' in message) {
        this.#commits.close()
        this.#commits = message.commits
        continue
      }
      // Whatever came before it is done before it.
      this.#commit(appends.splice(0))
      this.#answer(message.id, () => this.#call(message as Extract<ToWriter, { call: WriterCall }>))
      this.#tellReaders()
    }
    this.#commit(appends)
    this.#tellReaders()
    // Looking for something to seal asks the database, which takes longer than many a commit.
    if (this.#writer.chunksEnded !== this.#chunksSeen) this.#tidy(false)
    else this.#idle.refresh()
  }

  /** Waits for the sealer when it is too far behind: otherwise the tail would grow for as long as somebody appends. */
  #catchUp(): void {
    while (this.#tidying && !this.#unsealed.isOpen && this.#writer.isBehind) {
      const sealed = receiveMessageOnPort(this.#sealer)
      if (sealed === undefined) this.#unsealed.pass(pauseMs)
      else this.#tidied(sealed.message as FromSealer)
    }
  }

  #waiting(bytes: number): ToWriter | undefined {
    if (bytes >= limits.commitBytes) return undefined
    return receiveMessageOnPort(this.#port)?.message as ToWriter | undefined
  }

  #commit(appends: readonly { id: number; request: AppendRequest }[]): void {
    if (appends.length === 0) return
    try {
      const results = this.#writer.append(appends.map(({ request }) => request))
      const answers = packAppended(
        appends.map(({ id }) => id),
        results,
      )
      this.#port.postMessage(answers satisfies FromWriter)
      for (const { request } of appends) release(request.source)
    } catch (error) {
      // What one of them has done wrong is no failure of the others.
      if (appends.length > 1 && !(error instanceof ShoalError && error.code === 'ERR_STORAGE')) {
        for (const append of appends) this.#commit([append])
        return
      }
      const message = toMessage(error)
      this.#port.postMessage(appends.map(({ id }) => ({ id, error: message })) satisfies FromWriter)
    }
  }

  /** After the answers: whoever has published something waits for them. */
  #tellReaders(): void {
    const grown = this.#writer.takeGrown()
    if (grown.length > 0) this.#commits.postMessage(grown)
  }

  #answer(id: number, work: () => unknown): void {
    try {
      this.#port.postMessage([{ id, result: work() }] satisfies FromWriter)
    } catch (error) {
      this.#port.postMessage([{ id, error: toMessage(error) }] satisfies FromWriter)
    }
  }

  #call({ call, args }: { call: WriterCall; args: readonly unknown[] }): unknown {
    if (call === 'close') {
      clearTimeout(this.#idle)
      this.#sealer.close()
      this.#commits.close()
      this.#writer.close()
      // After the answer, which would not get through any more.
      setImmediate(() => this.#port.close())
      return undefined
    }
    return (this.#writer[call] as (...args: readonly unknown[]) => unknown)(...args)
  }

  /** Has chunks sealed when there are enough of them, and whatever else is to be done once nothing happens any more. */
  #tidy(idle: boolean): void {
    if (this.#tidying) return
    this.#chunksSeen = this.#writer.chunksEnded
    const task = this.#attempt(() => this.#nextTask(idle))
    if (task !== undefined) {
      this.#tidying = true
      this.#sealer.postMessage(task)
    } else if (idle && this.#attempt(() => this.#writer.reindexNext()) !== true)
      this.#attempt(() => this.#writer.foldLog())
    else this.#idle.refresh()
  }

  #nextTask(idle: boolean): ToSealer | undefined {
    const seal = this.#writer.planSeal(idle)
    if (seal !== undefined) return { seal }
    const merge = this.#writer.planMerge()
    return merge && { merge }
  }

  #tidied(message: FromSealer): void {
    this.#tidying = false
    const done = this.#attempt(() => ('error' in message ? this.#skip(message) : this.#apply(message)))
    // What could not be done stays as it is: nothing is lost by it, and the next try comes with the next chunk.
    if (done === true) this.#tidy(false)
  }

  /** What is damaged is not tried again and again: whatever else is to be done would never be. */
  #skip({ error, task }: Extract<FromSealer, { error: unknown }>): boolean {
    if (error.kind !== 'DamagedData' && error.kind !== 'MalformedBytes') return false
    if ('seal' in task) this.#writer.doNotSeal(task.seal)
    else this.#writer.dropDamaged(task.merge)
    return true
  }

  #apply(message: Exclude<FromSealer, { error: unknown }>): boolean {
    if ('merged' in message) return this.#writer.applyMerge(message.merged)
    const isApplied = this.#writer.applySeal(message.sealed)
    releaseSealed(message.sealed)
    return isApplied
  }

  /** Work that nobody waits for: when it fails, it is done another time. */
  #attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch {
      return undefined
    }
  }
}

const port = parentPort
assert(port !== null, 'the writer runs in a thread of its own')
open(port, () => new WriterThread(port, workerData as WriterData))
