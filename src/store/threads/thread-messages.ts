import type { MessagePort } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { type ErrorCode, errorTable, failure, ShoalError } from '../../base/errors.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import { DiskError, refusalIn } from '../disk/disk-io-error.ts'
import type { StoreDamage } from '../disk/wal-check.ts'
import type { Appended, AppendRequest, Run } from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'

/** An append request in a message: its ID and number of events. The spans, the streams and the bytes follow. */
const requestHead = 16
const bytesPerEvent = 20

/** A request as one buffer, which is transferred to the writer. The caller can reuse the memory of the request. */
export function packRequest(id: number, { source, spans, streams }: AppendRequest): ArrayBuffer {
  const count = streams.length
  assert(spans.length === 4 * count, 'each event of a request has its spans')
  const memory = new ArrayBuffer(requestHead + bytesPerEvent * count + source.length)
  new Float64Array(memory, 0, 2).set([id, count])
  new Int32Array(memory, requestHead, 4 * count).set(spans)
  new Uint32Array(memory, requestHead + 16 * count, count).set(streams)
  new Uint8Array(memory, requestHead + bytesPerEvent * count).set(source)
  return memory
}

/** An append request that has reached the writer. Its views share the memory of the message. */
export interface ReceivedRequest {
  readonly id: number
  readonly request: AppendRequest
}

export function unpackRequest(memory: ArrayBuffer): ReceivedRequest {
  const [id, count] = new Float64Array(memory, 0, 2) as unknown as [number, number]
  assert(id > 0, 'a request has an ID')
  assert(count >= 0 && requestHead + bytesPerEvent * count <= memory.byteLength, 'a request contains its events')
  const request = {
    spans: new Int32Array(memory, requestHead, 4 * count),
    streams: new Uint32Array(memory, requestHead + 16 * count, count),
    source: Buffer.from(memory, requestHead + bytesPerEvent * count),
  }
  return { id, request }
}

/** The results of one commit as numbers in one buffer: serializing objects would take longer than the commit. */
export function packAppended(ids: readonly number[], appended: readonly Appended[]): Float64Array {
  const runs = appended.reduce((sum, { runs }) => sum + runs.length, 0)
  assert(ids.length === appended.length, 'each request of a commit has a result')
  const numbers = new Float64Array(4 * ids.length + 3 * runs)
  let at = 0
  for (const [i, { lamport, time, runs }] of appended.entries()) {
    numbers[at++] = ids[i] as number
    numbers[at++] = lamport
    numbers[at++] = time
    numbers[at++] = runs.length
    for (const { stream, offset, count } of runs) {
      numbers[at++] = stream
      numbers[at++] = offset
      numbers[at++] = count
    }
  }
  return numbers
}

/** Passes each result to `settle`. Returns the number of results. */
export function unpackAppended(numbers: Float64Array, settle: (id: number, appended: Appended) => void): number {
  let at = 0
  const next = (): number => numbers[at++] as number
  let results = 0
  for (; at < numbers.length; results++) {
    const [id, lamport, time, count] = [next(), next(), next(), next()]
    assert(at + 3 * count <= numbers.length, 'a result contains its runs')
    const runs: Run[] = []
    while (runs.length < count) runs.push({ stream: next(), offset: next(), count: next() })
    settle(id, { lamport, time, runs })
  }
  return results
}

/** The first message of a thread: it is open, or failed to open. */
export interface Opened {
  readonly error?: ErrorMessage
  /** Damage found while opening that did not prevent it. */
  readonly damage?: readonly StoreDamage[]
}

/** A one-shot latch in shared memory. A thread that waits at it is blocked and receives no messages. */
export class Gate {
  readonly memory: SharedArrayBuffer
  readonly #state: Int32Array

  constructor(memory = new SharedArrayBuffer(4)) {
    this.memory = memory
    this.#state = new Int32Array(memory)
  }

  open(): void {
    Atomics.store(this.#state, 0, 1)
    Atomics.notify(this.#state, 0)
  }

  get isOpen(): boolean {
    return Atomics.load(this.#state, 0) === 1
  }

  /** Blocks the thread until the gate is open, up to a timeout. */
  wait(milliseconds?: number): void {
    Atomics.wait(this.#state, 0, 0, milliseconds)
  }
}

/** Never opened. */
const closed = new Gate()

/** Blocks the thread. */
export function pause(milliseconds: number): void {
  closed.wait(milliseconds)
}

/** Opens the resources of a thread and reports the outcome as its first message. */
export function openAndReport<T>(
  port: MessagePort,
  work: () => T,
  gate?: SharedArrayBuffer,
  damageOf: (opened: T) => readonly StoreDamage[] = () => [],
): T | undefined {
  try {
    if (gate !== undefined) new Gate(gate).wait()
    const opened = work()
    port.postMessage({ damage: damageOf(opened) } satisfies Opened)
    return opened
  } catch (error) {
    port.postMessage({ error: toMessage(error) } satisfies Opened)
    return undefined
  }
}

/** An error in a message between threads. Its kind survives. */
export interface ErrorMessage {
  readonly kind: 'ShoalError' | 'MalformedBytes' | 'DamagedData' | 'Error'
  readonly code: string
  readonly message: string
  readonly stack: string
  /** The operation that the disk refused, if that is the cause. */
  readonly refused?: string | undefined
}

export function toMessage(error: unknown): ErrorMessage {
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const code = error instanceof ShoalError ? error.code : ''
  const kind =
    error instanceof ShoalError
      ? 'ShoalError'
      : error instanceof MalformedBytes
        ? 'MalformedBytes'
        : error instanceof DamagedData
          ? 'DamagedData'
          : 'Error'
  return { kind, code, message, stack: stack ?? message, refused: refusalIn(error) }
}

export function fromMessage({ kind, code, message, stack, refused }: ErrorMessage): Error {
  const options = refused === undefined ? undefined : { cause: new DiskError(refused) }
  if (kind === 'ShoalError' && Object.hasOwn(errorTable, code))
    return new ShoalError(code as ErrorCode, message, options)
  if (kind === 'MalformedBytes') return new MalformedBytes(message)
  if (kind === 'DamagedData') return new DamagedData(message)
  // Refused writes are ShoalErrors already.
  if (refused !== undefined) return failure('ERR_STORAGE_READ', { cause: refused }, options)
  const error = new Error(message)
  error.stack = stack
  return error
}
