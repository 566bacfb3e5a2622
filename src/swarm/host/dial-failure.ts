import { connectReason } from '../../base/connect-reason.ts'
import { type PublicKey, peerIdOf } from '../../identity/index.ts'

/** Why a peer could not be connected to, in words for the operator. */
export class DialFailure extends Error {
  override readonly name = 'DialFailure'
  /** Whether another node than the one that was dialled has this address, or this node itself. */
  readonly isAnotherNode: boolean
  /** The node that answered at this address instead; undefined when its key is not an Ed25519 key. */
  readonly other: string | undefined

  constructor(
    reason: string,
    { isAnotherNode = false, other }: { isAnotherNode?: boolean; other?: string | undefined } = {},
  ) {
    super(reason)
    this.isAnotherNode = isAnotherNode
    this.other = other
  }

  get reason(): string {
    return this.message
  }
}

/** What the operator should know about a connection that failed in its first steps. */
export class HandshakeFailure extends Error {
  override readonly name = 'HandshakeFailure'
}

/** `other` is undefined for a node whose key is not an Ed25519 key. */
export function anotherNode(other: string | undefined): DialFailure {
  if (other === undefined)
    return new DialFailure('a node with another kind of key has this address', { isAnotherNode: true })
  const id = peerIdOf(new Uint8Array(Buffer.from(other, 'latin1')) as PublicKey)
  return new DialFailure(`another node has this address: ${id}`, { isAnotherNode: true, other })
}

export function anotherTopic(theirs: string, own: string): HandshakeFailure {
  return new HandshakeFailure(`the node is in the topic '${theirs}', this node in '${own}'`)
}

const namedReasons: Readonly<Record<string, string>> = {
  TimeoutError: 'no answer within the time-out',
  AbortError: 'no answer within the time-out',
  EncryptionFailedError: 'the encrypted handshake failed',
  ConnectionFailedError: 'the connection failed',
  UnsupportedProtocolError: 'the node does not speak the protocol of this version',
  NoValidAddressesError: 'this address cannot be dialled: only TCP is supported',
  UnexpectedPeerError: 'another node has this address',
  InvalidCryptoExchangeError: 'the encrypted handshake failed',
  StreamResetError: 'the other side reset the connection',
  StreamClosedError: 'the other side closed the connection',
  ConnectionClosedError: 'the other side closed the connection',
  UnexpectedEOFError: 'the other side closed the connection',
  InvalidPeerIdError: 'this is an address of this node itself',
  ConnectionDeniedError: 'too many connections',
  TransportUnavailableError: 'this address cannot be dialled: only TCP is supported',
}

/** The reason of a failed connection in words. Errors of libp2p wrap each other, so the causes are looked at too. */
export function reasonOf(error: unknown): string {
  const chain = causesOf(error)
  const own = chain.find((cause) => cause instanceof HandshakeFailure || cause instanceof DialFailure)
  if (own !== undefined) return own.message
  for (const cause of chain) {
    const reason = connectReason(cause)
    if (reason !== undefined) return reason
  }
  for (const cause of chain) {
    const reason = namedReasons[cause.name]
    if (reason !== undefined) return reason
  }
  return chain[0]?.message ?? String(error)
}

/** @param self this node, which libp2p does not connect to */
export function failureOf(error: unknown, self: string): DialFailure {
  const chain = causesOf(error)
  const failure = chain.find((cause) => cause instanceof DialFailure)
  if (failure !== undefined) return failure
  const isSelf = chain.some(({ name }) => name === 'InvalidPeerIdError')
  return new DialFailure(reasonOf(error), isSelf ? { isAnotherNode: true, other: self } : {})
}

function causesOf(error: unknown): Error[] {
  const found: Error[] = []
  const queue: unknown[] = [error]
  // Bounded: a cycle of causes must not loop for ever.
  while (queue.length > 0 && found.length < 16) {
    const next = queue.shift()
    if (!(next instanceof Error)) continue
    found.push(next)
    queue.push(next.cause)
    if (next instanceof AggregateError) queue.push(...next.errors)
  }
  return found
}
