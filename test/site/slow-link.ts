import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Random } from '../../scripts/crash/random.ts'

export interface SlowLinkOptions {
  readonly to: { readonly host: string; readonly port: number }
  readonly delayMs: number
  /** The share of segments that are lost once, from 0 to 1. */
  readonly loss: number
  readonly random: Random
}

const segmentBytes = 1448
/** The shortest retransmission time-out of Linux. */
const retransmissionMs = 200
/** As the receive window of TCP, it bounds what is on its way. */
const windowBytes = 256 * 1024

/**
 * A TCP proxy that behaves as a link with a delay and with losses, which the kernel of a test machine cannot simulate. A
 * lost segment arrives after a retransmission time-out, and all that were sent after it wait for it, as with TCP.
 */
export class SlowLink {
  readonly #options: SlowLinkOptions
  readonly #sockets = new Set<Socket>()
  port = 0
  connections = 0
  segments = 0
  lost = 0

  private constructor(options: SlowLinkOptions) {
    this.#options = options
  }

  static async listen(t: TestContext, options: SlowLinkOptions): Promise<SlowLink> {
    const link = new SlowLink(options)
    const server = createServer((inbound) => link.#accept(inbound))
    t.after(() => {
      server.close()
      for (const socket of link.#sockets) socket.destroy()
    })
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    link.port = (server.address() as { port: number }).port
    return link
  }

  #accept(inbound: Socket): void {
    this.connections++
    const outbound = connect(this.#options.to)
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      this.#sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => from.destroy())
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      this.#carry(from, to)
    }
  }

  #carry(from: Socket, to: Socket): void {
    const { delayMs, loss, random } = this.#options
    // In order: timers of nearly the same time may fire in any order.
    const queue: { readonly segment: Buffer; readonly due: number }[] = []
    let waiting = 0
    let isScheduled = false
    const deliver = (): void => {
      isScheduled = false
      for (let [next] = queue; next !== undefined && next.due <= performance.now(); [next] = queue) {
        queue.shift()
        waiting -= next.segment.length
        if (!to.destroyed) to.write(next.segment)
      }
      if (waiting < windowBytes / 2) from.resume()
      schedule()
    }
    const schedule = (): void => {
      const [next] = queue
      if (next === undefined || isScheduled) return
      isScheduled = true
      setTimeout(deliver, Math.max(1, next.due - performance.now()))
    }
    from.on('data', (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += segmentBytes) {
        const segment = bytes.subarray(at, at + segmentBytes)
        const isLost = random.chance(loss)
        this.segments++
        if (isLost) this.lost++
        const arrival = performance.now() + delayMs + (isLost ? retransmissionMs : 0)
        queue.push({ segment, due: Math.max(queue.at(-1)?.due ?? 0, arrival) })
        waiting += segment.length
      }
      if (waiting > windowBytes) from.pause()
      schedule()
    })
  }
}
