import { StreamState, YamuxStream } from '@libp2p/yamux/stream'

/** What the library keeps of the window of a stream: its size, and how much of it the peer may still use. */
interface Window {
  readonly recvWindow: number
  readonly recvWindowCapacity: number
}

let isExtended = false

/**
 * yamux 8.0.3 answers every frame of data with a window update, which costs both nodes as much as a small message. With
 * this a window is extended when half of it is used, as in other implementations. Before that, the peer has the other
 * half, so it never has to wait.
 */
export function extendWindowsByHalf(): void {
  if (isExtended) return
  isExtended = true
  const { sendWindowUpdate } = YamuxStream.prototype
  YamuxStream.prototype.sendWindowUpdate = function (): void {
    // Until a stream is established, an update also opens it.
    if (this.state !== StreamState.Established || isHalfUsed(this as unknown as Window)) sendWindowUpdate.call(this)
  }
}

function isHalfUsed({ recvWindow, recvWindowCapacity }: Window): boolean {
  return recvWindowCapacity <= recvWindow / 2
}
