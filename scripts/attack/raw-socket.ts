import { connect, type Socket } from 'node:net'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import type { Assault } from './attack.ts'
import type { Tally } from './tally.ts'

/** How long a client reads after the attack, in milliseconds. */
const lookMs = 300
/** Received bytes that are kept; the rest is discarded. */
const keptBytes = 256 * 1024
/** Milliseconds after which a connection is replaced by a new one. */
export const holdMs = 20_000

/** A raw TCP connection, for misbehaving clients. */
export class RawSocket {
  readonly socket: Socket
  readonly #tally: Tally
  readonly #closed: Promise<void>
  /** The first received bytes. */
  readonly #received: Buffer[] = []
  #size = 0
  #isEnded = false
  /** Code of the error that closed it. */
  error: string | undefined

  private constructor(socket: Socket, tally: Tally) {
    this.socket = socket
    this.#tally = tally
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('error', (error) => {
      this.error = 'code' in error ? String(error.code) : error.message
    })
    socket.on('end', () => {
      this.#isEnded = true
    })
    // A socket that is paused before listeners are added stays paused.
    socket.pause()
    socket.on('data', (part: Buffer) => {
      if (this.#size < keptBytes) this.#received.push(part)
      this.#size += part.length
    })
  }

  /** Connects without reading; undefined if the connection fails. */
  static async open({ victim, tally, signal }: Assault): Promise<RawSocket | undefined> {
    if (signal.aborted) return undefined
    const socket = connect({ port: victim.port, host: '127.0.0.1', noDelay: true })
    const raw = new RawSocket(socket, tally)
    const connected = new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true))
      socket.once('close', () => resolve(false))
      signal.addEventListener('abort', () => resolve(false), { once: true })
    })
    if (await connected) {
      tally.connections++
      return raw
    }
    if (!signal.aborted) tally.count(`no connection (${raw.error ?? 'closed'})`)
    socket.destroy()
    return undefined
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable
  }

  /** Writes with backpressure; false if the connection or the attack has ended. */
  async send(bytes: Uint8Array | string, signal: AbortSignal): Promise<boolean> {
    if (!this.isOpen || signal.aborted) return false
    this.#tally.bytes += bytes.length
    if (this.socket.write(bytes)) {
      // Yields to the event loop even if the kernel accepts everything at once.
      await setImmediate()
      return this.isOpen && !signal.aborted
    }
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.socket.off('drain', settle).off('close', settle)
        signal.removeEventListener('abort', settle)
        resolve()
      }
      this.socket.on('drain', settle).on('close', settle)
      signal.addEventListener('abort', settle)
    })
    return this.isOpen && !signal.aborted
  }

  /** Reads and discards, to notice when the node closes the connection. */
  reading(): this {
    this.socket.resume()
    return this
  }

  /** Waits until the node closes the connection, the attack is over, or a timeout. */
  hold(signal: AbortSignal, ms = holdMs): Promise<void> {
    return this.#until(this.#closed, signal, ms)
  }

  /** Reads until new data arrives or the node closes the connection. */
  answered(signal: AbortSignal): Promise<void> {
    const answer = new Promise<void>((resolve) => this.socket.once('data', () => resolve()))
    this.reading()
    return this.#until(Promise.race([answer, this.#closed]), signal, holdMs)
  }

  /** Reads the first received bytes and whether the node has closed the connection, then closes it. */
  async look(): Promise<{ bytes: Buffer; isClosed: boolean }> {
    const isEnough = (): boolean => this.#isEnded || this.socket.destroyed || this.#size >= keptBytes
    this.reading()
    for (let waited = 0; waited < lookMs && !isEnough(); waited += 20) await delay(20)
    const isClosed = this.#isEnded || this.socket.destroyed || this.error !== undefined
    this.destroy()
    return { bytes: Buffer.concat(this.#received), isClosed }
  }

  /** The received bytes so far. */
  get received(): Buffer {
    return Buffer.concat(this.#received)
  }

  destroy(): void {
    this.socket.destroy()
  }

  async #until(event: Promise<void>, signal: AbortSignal, ms: number): Promise<void> {
    const over = new AbortController()
    const timeout = delay(ms, undefined, { signal: AbortSignal.any([signal, over.signal]) }).catch(() => {})
    await Promise.race([event, timeout])
    over.abort()
  }
}

/** Keeps a number of clients attacking: a client that is refused or closed reconnects, until the attack is over. */
export async function crowd(count: number, signal: AbortSignal, client: (n: number) => Promise<void>): Promise<void> {
  const attackAgain = async (n: number): Promise<void> => {
    while (!signal.aborted) {
      await client(n)
      await delay(100, undefined, { signal }).catch(() => {})
    }
  }
  await Promise.all(Array.from({ length: count }, (_, n) => attackAgain(n)))
}
