import { assert } from '../../base/assert.ts'
import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import type { BlockEffect } from './block-effects.ts'
import { type BlockPeer, keyOfCid } from './block-peer.ts'

/** Answers the requests of peers for blocks, with a limit on the bytes that are read or unsent at any time. */
export class BlockServer {
  readonly #peers: ReadonlyMap<string, BlockPeer>
  /** Peers with requests that wait, the next one first. */
  readonly #waiting = new Set<BlockPeer>()
  /** Reserved for blocks being read, and taken by unsent blocks, over all peers. */
  #bytes = 0

  constructor(peers: ReadonlyMap<string, BlockPeer>) {
    this.#peers = peers
  }

  /** A peer asks for blocks. */
  wanted(peer: BlockPeer, cids: readonly Uint8Array[]): BlockEffect[] {
    for (const cid of cids) {
      const key = keyOfCid(cid)
      if (!peer.reading.has(key)) peer.requested.set(key, cid)
    }
    if (peer.requested.size > limits.blockRequestsServed)
      return [{ do: 'close', peer: peer.name, reason: 'tooManyBlockRequests' }]
    this.#waiting.add(peer)
    return this.serve()
  }

  /** A peer needs blocks no more. */
  cancelled(peer: BlockPeer, cids: readonly Uint8Array[]): void {
    for (const cid of cids) {
      const key = keyOfCid(cid)
      peer.requested.delete(key)
      peer.interested.delete(key)
    }
  }

  /** A block for a peer was read; undefined when it is not stored. */
  read(peer: BlockPeer, cid: Uint8Array, bytes: Uint8Array | undefined): BlockEffect[] {
    const key = keyOfCid(cid)
    // The result of a read for an earlier connection of this peer.
    if (!peer.reading.delete(key)) return []
    this.#bytes -= format.fileBlockBytes
    const to = peer.name
    if (bytes === undefined) {
      peer.interested.set(key, true)
      return [{ do: 'send', to, message: { is: 'blocksNotHere', cids: [cid] } }, ...this.serve()]
    }
    peer.unsentBytes += bytes.length
    this.#bytes += bytes.length
    return [{ do: 'send', to, message: { is: 'block', cid, bytes } }, ...this.serve()]
  }

  /** A block of this length has left the send queue of a peer. */
  sent(peer: BlockPeer, length: number): BlockEffect[] {
    const freed = Math.min(length, peer.unsentBytes)
    peer.unsentBytes -= freed
    this.#bytes -= freed
    return this.serve()
  }

  /** A block has arrived: tells the peers that have asked for it in vain. */
  arrived(cid: Uint8Array): BlockEffect[] {
    const key = keyOfCid(cid)
    const effects: BlockEffect[] = []
    for (const { name, interested } of this.#peers.values())
      if (interested.delete(key)) effects.push({ do: 'send', to: name, message: { is: 'haveBlocks', cids: [cid] } })
    return effects
  }

  /** A peer is gone. */
  forget(peer: BlockPeer): void {
    this.#bytes -= peer.unsentBytes + peer.reading.size * format.fileBlockBytes
    this.#waiting.delete(peer)
    peer.reading.clear()
    peer.unsentBytes = 0
  }

  /** Reads requested blocks while there is room for the largest one; peers take turns. */
  serve(): BlockEffect[] {
    const effects: BlockEffect[] = []
    for (const peer of this.#waiting) {
      if (this.#bytes + format.fileBlockBytes > limits.servedBlockBytes) break
      if (peer.requested.size > 0 && !hasRoom(peer)) continue
      this.#waiting.delete(peer)
      const [next] = peer.requested
      if (next === undefined) continue
      const [key, cid] = next
      peer.requested.delete(key)
      peer.reading.add(key)
      this.#bytes += format.fileBlockBytes
      effects.push({ do: 'readBlock', peer: peer.name, cid })
      // Behind the others: the loop comes to it again.
      this.#waiting.add(peer)
    }
    assert(this.#bytes <= limits.servedBlockBytes, 'blocks that are read or unsent are within their limit')
    return effects
  }
}

function hasRoom({ unsentBytes, reading }: BlockPeer): boolean {
  return unsentBytes + (reading.size + 1) * format.fileBlockBytes <= limits.servedBlockBytesPerPeer
}
