import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import type { StreamKey } from '../protocol/index.ts'

/** The limit that keeps a store from adding a stream. */
export type StreamLimit =
  /** The number of the stream is beyond the maximum per node. */
  | 'streamsPerNode'
  /** The topic has no slots left, or only those that are reserved for own streams. */
  | 'streamsPerTopic'
  /** There are too many other nodes. */
  | 'otherNodes'
  /** The peer has introduced too many other nodes. */
  | 'nodesPerPeer'
  /** The peer has introduced too many streams. */
  | 'streamsPerPeer'

const texts: Readonly<Record<StreamLimit, string>> = {
  streamsPerNode: `A node has at most ${format.streamsPerNode} streams.`,
  streamsPerTopic: `A topic has at most ${format.streamsPerTopic} streams.`,
  otherNodes: `A topic has streams of at most ${limits.otherNodes} other nodes.`,
  nodesPerPeer: `A peer introduces at most ${limits.nodesPerPeer} nodes.`,
  streamsPerPeer: `A peer introduces at most ${limits.streamsPerPeer} streams.`,
}

/** The error for a stream that cannot be added. */
export function noRoomForStream(limit: StreamLimit): ShoalError {
  return new ShoalError('ERR_IO', texts[limit])
}

interface NodeStreams {
  /** The peer that introduced the node. */
  readonly from: string | undefined
  streams: number
}

interface Introduced {
  nodes: number
  streams: number
}

/**
 * Which streams a store adds. Keys can be made up, and a stream takes its slot for as long as the store exists: so the
 * nodes and streams that a peer introduces are limited, and the slots that own streams may need are reserved. It counts
 * what is stored: a stream that is forgotten returns its part of the budget.
 */
export class StreamBudget {
  #own = 0
  readonly #nodes = new Map<string, NodeStreams>()
  readonly #peers = new Map<string, Introduced>()

  /**
   * The limit that a new stream would exceed; undefined when it may be added.
   * @param slots the number of slots that are in use or cannot be reused yet
   * @param from the peer that has sent the stream; undefined when it is not known
   */
  limitOf(stream: StreamKey & { readonly own: boolean }, slots: number, from?: string): StreamLimit | undefined {
    const { streamsPerNode, streamsPerTopic } = format
    if (stream.number >= streamsPerNode) return 'streamsPerNode'
    const reserved = stream.own ? 0 : Math.max(0, streamsPerNode - this.#own)
    if (slots + reserved >= streamsPerTopic) return 'streamsPerTopic'
    if (stream.own) return undefined
    const peer = from === undefined ? undefined : this.#peers.get(from)
    if (!this.#nodes.has(nameOf(stream))) {
      if (this.#nodes.size >= limits.otherNodes) return 'otherNodes'
      if (peer !== undefined && peer.nodes >= limits.nodesPerPeer) return 'nodesPerPeer'
    }
    return peer !== undefined && peer.streams >= limits.streamsPerPeer ? 'streamsPerPeer' : undefined
  }

  /** Counts a stored stream. */
  add(stream: StreamKey & { readonly own: boolean }, from?: string): void {
    if (stream.own) {
      this.#own++
      return
    }
    const name = nameOf(stream)
    const peer = from === undefined ? undefined : (this.#peers.get(from) ?? { nodes: 0, streams: 0 })
    if (from !== undefined && peer !== undefined) this.#peers.set(from, peer)
    if (peer !== undefined) peer.streams++
    const node = this.#nodes.get(name)
    if (node !== undefined) node.streams++
    else {
      this.#nodes.set(name, { from, streams: 1 })
      if (peer !== undefined) peer.nodes++
    }
  }

  /** Returns what a stream of another node has taken, when it is forgotten. */
  remove(stream: StreamKey, from?: string): void {
    const name = nameOf(stream)
    const node = this.#nodes.get(name)
    assert(node !== undefined, 'a stream was counted before it is removed')
    this.#return(from, { nodes: 0, streams: 1 })
    if (--node.streams > 0) return
    this.#nodes.delete(name)
    this.#return(node.from, { nodes: 1, streams: 0 })
  }

  #return(from: string | undefined, { nodes, streams }: Introduced): void {
    const peer = from === undefined ? undefined : this.#peers.get(from)
    if (from === undefined || peer === undefined) return
    peer.nodes -= nodes
    peer.streams -= streams
    assert(peer.nodes >= 0 && peer.streams >= 0, 'a peer gets back what it has used')
    if (peer.nodes === 0 && peer.streams === 0) this.#peers.delete(from)
  }
}

function nameOf({ node }: StreamKey): string {
  return Buffer.from(node).toString('latin1')
}
