import type { Socket } from 'node:net'
import type { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { connectionShare, Holding, type MemoryAccount, outOfClientMemory } from '../../client-memory/account.ts'

/** What the protocol on a connection (HTTP at first, perhaps a WebSocket later) tells the accounting. */
export interface ConnectionUse {
  /** Bytes that wait to be sent. */
  outputBytes(): number
  /** Whether part of a head, a body or a message has come, and the rest has not. */
  isReceiving(): boolean
  /** Ends the connection, and tells the client why where that is possible. */
  evict(reason: ShoalError): void
}

/** A connection of a client: the memory that it is charged for, and whether it makes progress. */
export class Connection {
  readonly #socket: Socket
  readonly #account: MemoryAccount
  readonly #holding: Holding
  #use: ConnectionUse
  /** The part of the holding that waits in the socket to be sent. */
  #output = 0
  /** What was sent and received when progress was seen last, and when that was. */
  #sentMark = 0
  #readMark = 0
  #progressAt: number
  #isEvicted = false

  constructor(socket: Socket, account: MemoryAccount, now: number) {
    this.#socket = socket
    this.#account = account
    this.#holding = new Holding(account, connectionShare(account))
    this.#progressAt = now
    this.#use = { outputBytes: () => socket.writableLength, isReceiving: () => false, evict: () => socket.destroy() }
  }

  get heldBytes(): number {
    return this.#holding.bytes
  }

  get remote(): string {
    return `${this.#socket.remoteAddress ?? '?'}:${this.#socket.remotePort ?? '?'}`
  }

  /** The error for what could not be charged. */
  get refusal(): ShoalError {
    return outOfClientMemory(this.#account)
  }

  /** Charges bytes; answers false, and charges nothing, when there is no room for them. */
  charge(bytes: number): boolean {
    return this.#holding.charge(bytes)
  }

  refund(bytes: number): void {
    this.#holding.refund(bytes)
  }

  /** Whether so many bytes could be charged now. */
  hasRoom(bytes: number): boolean {
    if (!this.#holding.charge(bytes)) return false
    this.#holding.refund(bytes)
    return true
  }

  set use(use: ConnectionUse) {
    this.#use = use
  }

  /** To be called after something was written: charges what the socket could not pass on at once. */
  wrote(): void {
    if (!this.#isEvicted && !this.#auditOutput()) this.evict()
  }

  /** Charges what waits to be sent; answers for how many milliseconds nothing has moved although something should. */
  audit(now: number): number {
    if (this.#isEvicted) return 0
    if (!this.#auditOutput()) this.evict()
    const sent = this.#socket.bytesWritten - this.#output
    const read = this.#socket.bytesRead
    const isStalled =
      this.#output > 0
        ? sent - this.#sentMark < limits.progressBytes
        : this.#use.isReceiving() && read - this.#readMark < limits.progressBytes
    if (!isStalled) {
      this.#sentMark = sent
      this.#readMark = read
      this.#progressAt = now
    }
    return now - this.#progressAt
  }

  /** Ends the connection because of the memory that it holds. It is charged for that until it is closed: until then it holds it. */
  evict(): void {
    if (this.#isEvicted) return
    this.#isEvicted = true
    this.#use.evict(this.refusal)
  }

  /** The connection is gone, and with it everything that it held. */
  close(): void {
    this.#holding.close()
  }

  #auditOutput(): boolean {
    const bytes = this.#use.outputBytes()
    if (bytes < this.#output) this.#holding.refund(this.#output - bytes)
    else if (bytes > this.#output && !this.#holding.charge(bytes - this.#output)) return false
    this.#output = bytes
    return true
  }
}
