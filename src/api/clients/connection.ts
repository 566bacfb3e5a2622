import type { Socket } from 'node:net'
import type { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { connectionMemoryShare, Holding, type MemoryAccount, outOfClientMemory } from '../../client-memory/account.ts'

/** What memory accounting needs from the protocol of a connection: HTTP at first, a WebSocket after an upgrade. */
export interface ConnectionProtocol {
  /** Bytes in the output buffer. */
  outputBytes(): number
  /** Whether a head, a body or a message was received in part. */
  isReceiving(): boolean
  /** Closes the connection, with an error response or a close reason where that is possible. */
  evict(reason: ShoalError): void
}

/** A client connection: its memory account, and whether it makes progress. */
export class Connection {
  readonly #socket: Socket
  readonly #account: MemoryAccount
  readonly #holding: Holding
  #protocol: ConnectionProtocol
  /** The part of the holding that is in the output buffer. */
  #output = 0
  /** Bytes sent and received, and the time, when progress was seen last. */
  #sentMark = 0
  #readMark = 0
  #progressAt: number
  #isEvicted = false

  constructor(socket: Socket, account: MemoryAccount, now: number) {
    this.#socket = socket
    this.#account = account
    this.#holding = new Holding(account, connectionMemoryShare(account))
    this.#progressAt = now
    this.#protocol = {
      outputBytes: () => socket.writableLength,
      isReceiving: () => false,
      evict: () => socket.destroy(),
    }
  }

  get heldBytes(): number {
    return this.#holding.bytes
  }

  get remote(): string {
    return `${this.#socket.remoteAddress ?? '?'}:${this.#socket.remotePort ?? '?'}`
  }

  /** The error for a charge that exceeds the memory limit. */
  get refusal(): ShoalError {
    return outOfClientMemory(this.#account)
  }

  /** Charges bytes; false, with nothing charged, when that would exceed the memory limit. */
  charge(bytes: number): boolean {
    return this.#holding.charge(bytes)
  }

  refund(bytes: number): void {
    this.#holding.refund(bytes)
  }

  /** Whether a charge of this many bytes would succeed now. */
  hasRoom(bytes: number): boolean {
    if (!this.#holding.charge(bytes)) return false
    this.#holding.refund(bytes)
    return true
  }

  set protocol(protocol: ConnectionProtocol) {
    this.#protocol = protocol
  }

  /** Call this after each write: charges the output that the socket has buffered. */
  afterWrite(): void {
    if (!this.#isEvicted && !this.#auditOutput()) this.evict()
  }

  /** Charges the buffered output; returns for how many milliseconds the connection has been stalled. */
  audit(now: number): number {
    if (this.#isEvicted) return 0
    if (!this.#auditOutput()) this.evict()
    const sent = this.#socket.bytesWritten - this.#output
    const read = this.#socket.bytesRead
    const isStalled =
      this.#output > 0
        ? sent - this.#sentMark < limits.progressBytes
        : this.#protocol.isReceiving() && read - this.#readMark < limits.progressBytes
    if (!isStalled) {
      this.#sentMark = sent
      this.#readMark = read
      this.#progressAt = now
    }
    return now - this.#progressAt
  }

  /** Closes the connection because of the memory that it holds. The memory stays charged until the socket is closed. */
  evict(): void {
    if (this.#isEvicted) return
    this.#isEvicted = true
    this.#protocol.evict(this.refusal)
  }

  /** Refunds everything: the socket is closed. */
  close(): void {
    this.#holding.close()
  }

  #auditOutput(): boolean {
    const bytes = this.#protocol.outputBytes()
    if (bytes < this.#output) this.#holding.refund(this.#output - bytes)
    else if (bytes > this.#output && !this.#holding.charge(bytes - this.#output)) return false
    this.#output = bytes
    return true
  }
}
