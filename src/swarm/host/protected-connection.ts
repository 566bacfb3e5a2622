import type { AbortOptions, MultiaddrConnection, StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { AbstractMessageStream, type SendResult } from '@libp2p/utils'
import xsalsa20, { type Xor } from 'xsalsa20'
import { limits } from '../../base/limits.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import { HandshakeFailure } from './dial-failure.ts'

export const nonceBytes = 24

/** The memory of the cipher is shared by all connections, and must not grow with what is sent. */
const sliceBytes = 64 * 1024

/** What both sides send first on every encrypted connection: the header of multistream-select. */
const header = Buffer.from('\x13/multistream/1.0.0\n', 'latin1')

const reasons = {
  noKey: 'the other side uses no swarm key',
  otherKey: 'the other side has another swarm key',
  probablyOtherKey: 'the other side closed the connection after the first bytes: it probably has another swarm key',
  closed: 'the other side closed the connection before the swarm key could be checked',
  late: 'the other side did not complete the exchange of the swarm key in time',
} as const

/** Ciphers in use, for tests: both of a connection are released when it is closed. */
export const ciphersInUse = { count: 0 }

class Cipher {
  readonly #xor: Xor
  #isReleased = false

  constructor(nonce: Uint8Array, key: Uint8Array) {
    this.#xor = xsalsa20(nonce, key)
    ciphersInUse.count++
  }

  apply(bytes: Uint8Array): Uint8Array {
    return this.#xor.update(bytes)
  }

  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#xor.finalize()
    ciphersInUse.count--
  }
}

/** A connection that is encrypted with the swarm key: a nonce, and an XSalsa20 stream after it, in both directions. */
export class ProtectedConnection extends AbstractMessageStream {
  /** Rejects with a `HandshakeFailure`. */
  readonly ready: Promise<void>
  readonly #connection: MultiaddrConnection
  readonly #swarmKey: Uint8Array
  readonly #runtime: Runtime
  readonly #outbound: Cipher
  #inbound: Cipher | undefined
  readonly #nonce = Buffer.alloc(nonceBytes)
  #nonceLength = 0
  /** Bytes of the header that were compared. */
  #compared = 0
  readonly #ready = Promise.withResolvers<void>()
  readonly #deadline: Timer
  /** Why the connection failed, when it did so before the keys were known to be equal. */
  #failure: HandshakeFailure | undefined
  readonly #failed: (failure: HandshakeFailure) => void

  /** `failed` is called when the connection ends before the keys are known to be equal. */
  constructor(
    connection: MultiaddrConnection,
    { swarmKey, runtime }: { swarmKey: Uint8Array; runtime: Runtime },
    failed: (failure: HandshakeFailure) => void,
  ) {
    const { log, direction } = connection
    super({ log, direction, maxMessageSize: sliceBytes, maxWriteBufferLength: limits.connectionBufferBytes })
    this.#connection = connection
    this.#swarmKey = swarmKey
    this.#runtime = runtime
    this.#failed = failed
    this.ready = this.#ready.promise
    this.ready.catch(() => {})
    const nonce = runtime.random.bytes(nonceBytes)
    this.#outbound = new Cipher(nonce, swarmKey)
    this.#deadline = runtime.timers.setTimeout(() => this.#fail('late'), limits.swarmKeyTimeoutMs).unref()
    connection.addEventListener('message', this.#received)
    connection.addEventListener('drain', () => this.safeDispatchEvent('drain'))
    connection.addEventListener('close', (event) => this.#closed(event))
    connection.send(nonce)
  }

  override sendData(data: Parameters<AbstractMessageStream['sendData']>[0]): SendResult {
    const canSendMore = this.#connection.send(this.#outbound.apply(data.subarray()))
    return { sentBytes: data.byteLength, canSendMore }
  }

  override sendReset(error: Error): void {
    this.#connection.abort(error)
  }

  override sendPause(): void {
    this.#connection.pause()
  }

  override sendResume(): void {
    this.#connection.resume()
  }

  override async close(options?: AbortOptions): Promise<void> {
    await this.#connection.close(options)
  }

  readonly #received = ({ data }: StreamMessageEvent): void => {
    for (const piece of data instanceof Uint8Array ? [data] : data) {
      let rest = this.#takeNonce(piece)
      while (rest.length > 0 && this.status === 'open') {
        this.#decrypted(rest.subarray(0, sliceBytes))
        rest = rest.subarray(sliceBytes)
      }
    }
  }

  /** Returns the bytes after the nonce. */
  #takeNonce(bytes: Uint8Array): Uint8Array {
    const missing = nonceBytes - this.#nonceLength
    if (missing === 0) return bytes
    this.#nonce.set(bytes.subarray(0, missing), this.#nonceLength)
    this.#nonceLength += Math.min(missing, bytes.length)
    if (this.#nonceLength < nonceBytes) return bytes.subarray(0, 0)
    if (this.#nonce.subarray(0, header.length).equals(header)) {
      this.#fail('noKey')
      return bytes.subarray(0, 0)
    }
    this.#runtime.timers.clear(this.#deadline)
    this.#inbound = new Cipher(this.#nonce, this.#swarmKey)
    this.#ready.resolve()
    return bytes.subarray(missing)
  }

  #decrypted(bytes: Uint8Array): void {
    const plain = this.#inbound?.apply(bytes)
    if (plain === undefined) return
    // With another key the next layer would see random bytes, and might wait for many more of them.
    const count = Math.min(plain.length, header.length - this.#compared)
    if (count > 0) {
      if (!header.subarray(this.#compared, this.#compared + count).equals(plain.subarray(0, count))) {
        this.#fail('otherKey')
        return
      }
      this.#compared += count
    }
    this.onData(plain)
  }

  #fail(why: keyof typeof reasons): void {
    this.#end(why)
    this.#connection.abort(this.#failure ?? new Error(reasons[why]))
  }

  #end(why: keyof typeof reasons): void {
    if (this.#compared === header.length || this.#failure !== undefined) return
    this.#failure = new HandshakeFailure(reasons[why])
    this.#runtime.timers.clear(this.#deadline)
    this.#ready.reject(this.#failure)
    this.#failed(this.#failure)
  }

  #closed({ error, local }: StreamCloseEvent): void {
    // A reset by the other side is an error with a code; other errors are time-outs of this side.
    if (error !== undefined && !('code' in error)) this.#end('late')
    else this.#end(this.#nonceLength < nonceBytes ? 'closed' : 'probablyOtherKey')
    this.#outbound.release()
    this.#inbound?.release()
    this.#inbound = undefined
    const cause = this.#failure ?? error
    if (local === true && error !== undefined) this.abort(error)
    else this.onTransportClosed(cause)
  }
}
