import type { Agenda } from './agenda.ts'
import type { Endpoint } from './network.ts'

/** A process that stands still for a while: messages and timers wait for its end. */
export class Stall {
  readonly #agenda: Agenda
  #untilMs = 0
  #waiting: (() => void)[] = []

  constructor(agenda: Agenda) {
    this.#agenda = agenda
  }

  /** Milliseconds until it goes on. */
  readonly leftMs = (): number => this.#untilMs - this.#agenda.nowMs

  begin(ms: number): void {
    this.#untilMs = this.#agenda.nowMs + ms
    this.#agenda.after(ms, () => this.#goOn())
  }

  /** The process is started again. */
  end(): void {
    this.#untilMs = 0
    this.#waiting = []
  }

  /** The node as the network knows it. */
  endpointOf(node: Endpoint): Endpoint {
    const later = (work: () => void): void => {
      if (this.leftMs() > 0 || this.#waiting.length > 0) this.#waiting.push(work)
      else work()
    }
    return {
      name: node.name,
      label: node.label,
      connected: (peer) => later(() => node.connected(peer)),
      disconnected: (peer) => later(() => node.disconnected(peer)),
      received: (peer, message) => later(() => node.received(peer, message)),
      receivedBlocks: (peer, message) => later(() => node.receivedBlocks(peer, message)),
      garbled: (peer) => later(() => node.garbled(peer)),
    }
  }

  #goOn(): void {
    if (this.leftMs() > 0) return
    for (let work = this.#waiting.shift(); work !== undefined; work = this.#waiting.shift()) work()
  }
}
