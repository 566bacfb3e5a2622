import type { MessagePort } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { type ErrorCode, errorTable, failure, ShoalError } from '../../base/errors.ts'
import { MalformedBytes } from '../../protocol/index.ts'
import { DiskRefusal, refusalIn } from '../disk/disk-refusal.ts'
import type { StoreDamage } from '../disk/wal-check.ts'
import type { Appended, AppendRequest, Run } from '../port/index.ts'
import { DamagedData } from '../sqlite/index.ts'

/** What a request on its way is: all of it or its last part, a part that others follow, or the end of one that was given up. */
const parts = ['last', 'more', 'givenUp'] as const

export type Part = (typeof parts)[number]

/** Its number, which part it is, and how many events it has. */
const requestHead = 24

/** A request takes so many bytes on its way to the writer: its head, then spans, streams, bytes. */
export function requestBytes({ source, streams }: AppendRequest): number {
  return requestHead + 20 * streams.length + source.length
}

/** Writes a request to a place that has room for it and begins at a multiple of 8. */
export function writeRequest(
  bytes: Buffer<ArrayBufferLike>,
  at: number,
  id: number,
  { source, spans, streams }: AppendRequest,
  part: Part,
): void {
  const memory = bytes.buffer
  const count = streams.length
  assert(spans.length === 4 * count, 'each event of a request has its spans')
  const head = new Float64Array(memory, at, 3)
  head[0] = id
  head[1] = parts.indexOf(part)
  head[2] = count
  new Int32Array(memory, at + requestHead, 4 * count).set(spans)
  new Uint32Array(memory, at + requestHead + 16 * count, count).set(streams)
  copyAll(source, bytes, at + requestHead + 20 * count)
}

/**
 * Copies bytes to or from memory that is shared. Node 24 copies a part of a buffer at once, but the whole of one as `set` does: word by
 * word, or byte by byte where one of the two does not begin at a multiple of eight, which takes up to 30 times as long.
 */
export function copyAll(source: Buffer<ArrayBufferLike>, target: Buffer<ArrayBufferLike>, at: number): void {
  assert(at + source.length <= target.length, 'there is room for what is copied')
  if (source.length === 0) return
  target[at] = source[0] as number
  source.copy(target, at + 1, 1)
}

/** A request as one piece of memory that is handed over. */
export function packRequest(id: number, request: AppendRequest, part: Part): ArrayBuffer {
  const memory = new ArrayBuffer(requestBytes(request))
  writeRequest(Buffer.from(memory), 0, id, request, part)
  return memory
}

/** A request on its way. */
export interface Letter {
  readonly id: number
  readonly part: Part
  readonly request: AppendRequest
}

/** The request of so many bytes that was written there; it is good for as long as the memory stays as it is. */
export function unpackRequest(memory: ArrayBufferLike, at: number, bytes: number): Letter {
  const head = new Float64Array(memory, at, 3)
  const id = head[0] as number
  const part = parts[head[1] as number]
  const count = head[2] as number
  assert(id > 0 && part !== undefined, 'a request has a number, and is a known part')
  assert(count >= 0 && requestHead + 20 * count <= bytes, 'the events of a request stand within its bytes')
  const spans = at + requestHead
  const request = {
    spans: new Int32Array(memory, spans, 4 * count),
    streams: new Uint32Array(memory, spans + 16 * count, count),
    source: Buffer.from(memory, spans + 20 * count, bytes - requestHead - 20 * count),
  }
  return { id, part, request }
}

/** The answers to what went into one commit, as numbers in one piece of memory: many objects would take longer than the commit. */
export function packAppended(ids: readonly number[], appended: readonly Appended[]): Float64Array {
  const runs = appended.reduce((sum, { runs }) => sum + runs.length, 0)
  assert(ids.length === appended.length, 'each request of a commit has an answer')
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

/** Tells each of the answers; says how many they were. */
export function unpackAppended(numbers: Float64Array, tell: (id: number, appended: Appended) => void): number {
  let at = 0
  const next = (): number => numbers[at++] as number
  let told = 0
  for (; at < numbers.length; told++) {
    const [id, lamport, time, count] = [next(), next(), next(), next()]
    assert(at + 3 * count <= numbers.length, 'the runs of an answer stand within the answers')
    const runs: Run[] = []
    while (runs.length < count) runs.push({ stream: next(), offset: next(), count: next() })
    tell(id, { lamport, time, runs })
  }
  return told
}

/** What a thread says first: that it is open, or what has kept it from that. */
export interface Opened {
  readonly error?: ErrorMessage
  /** Damage that was found on the way, which does not keep it from working. */
  readonly damage?: readonly StoreDamage[]
}

/** A gate in memory that threads share: it is opened once, and who waits in front of it does not hear any messages. */
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

  /** Stops the thread until the gate is open, or so many milliseconds have passed. */
  pass(milliseconds?: number): void {
    Atomics.wait(this.#state, 0, 0, milliseconds)
  }
}

/** Nobody opens it. */
const closed = new Gate()

/** Stops the thread for so many milliseconds. */
export function pause(milliseconds: number): void {
  closed.pass(milliseconds)
}

/** Opens what a thread works with, and says so to whoever waits for it. */
export function open<T>(
  port: MessagePort,
  work: () => T,
  gate?: SharedArrayBuffer,
  damageOf: (opened: T) => readonly StoreDamage[] = () => [],
): T | undefined {
  try {
    if (gate !== undefined) new Gate(gate).pass()
    const opened = work()
    port.postMessage({ damage: damageOf(opened) } satisfies Opened)
    return opened
  } catch (error) {
    port.postMessage({ error: toMessage(error) } satisfies Opened)
    return undefined
  }
}

/** An error on its way from one thread to another: what it is stays with it. */
export interface ErrorMessage {
  readonly kind: 'ShoalError' | 'MalformedBytes' | 'DamagedData' | 'Error'
  readonly code: string
  readonly message: string
  readonly stack: string
  /** What the disk has refused, where that is the reason. */
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
  const options = refused === undefined ? undefined : { cause: new DiskRefusal(refused) }
  if (kind === 'ShoalError' && Object.hasOwn(errorTable, code))
    return new ShoalError(code as ErrorCode, message, options)
  if (kind === 'MalformedBytes') return new MalformedBytes(message)
  if (kind === 'DamagedData') return new DamagedData(message)
  // What could not be stored has a code already.
  if (refused !== undefined) return failure('ERR_STORAGE_READ', { cause: refused }, options)
  const error = new Error(message)
  error.stack = stack
  return error
}
