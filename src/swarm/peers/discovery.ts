import { type PublicKey, parsePeerId, peerIdOf } from '../../identity/index.ts'
import { parseTcpAddress } from './address.ts'

/** How a node can be reached at an address: it listens there, it was configured, or peers have seen it there. */
const origins = ['Listen', 'External', 'Observed'] as const
export type AddressOrigin = (typeof origins)[number]

/** An address of a node, as a discovery event says it. */
export interface PublishedAddress {
  /** The public key of the node as latin1. */
  readonly peer: string
  readonly origin: AddressOrigin
  /** Without peer ID. */
  readonly address: string
}

/** A discovery event: an address has appeared, or is gone. */
export interface Discovery extends PublishedAddress {
  readonly isNew: boolean
}

/** The payload of a discovery event. */
export function discoveryPayload({ peer, origin, address, isNew }: Discovery): Record<string, [string, string]> {
  return { [`${isNew ? 'New' : 'Expired'}${origin}Addr`]: [peerIdOf(keyOf(peer)), address] }
}

/** Undefined for a payload that is not a discovery event, or whose address cannot be dialled. */
export function parseDiscovery(payload: unknown): Discovery | undefined {
  if (typeof payload !== 'object' || payload === null) return undefined
  const [entry, ...more] = Object.entries(payload)
  if (entry === undefined || more.length > 0) return undefined
  const [kind, value] = entry
  const [, change, name] = /^(New|Expired)(Listen|External|Observed)Addr$/.exec(kind) ?? []
  const origin = origins.find((known) => known === name)
  if (origin === undefined || !Array.isArray(value)) return undefined
  const [peerId, text] = value as unknown[]
  if (typeof peerId !== 'string' || typeof text !== 'string') return undefined
  const peer = peerOf(peerId)
  // The reference appends the peer ID to some of them.
  const address = parseTcpAddress(text.replace(/\/p2p\/[^/]+$/, ''))?.text
  if (peer === undefined || address === undefined) return undefined
  return { peer, origin, address, isNew: change === 'New' }
}

/** Whether an address means the same on other machines; others are not published. */
export function isPublic(address: string): boolean {
  return parseTcpAddress(address)?.reach === 'network'
}

function keyOf(peer: string): PublicKey {
  return Buffer.from(peer, 'latin1') as Uint8Array as PublicKey
}

function peerOf(peerId: string): string | undefined {
  try {
    return Buffer.from(parsePeerId(peerId)).toString('latin1')
  } catch {
    return undefined
  }
}
