import type { OwnComparison } from '../../replication/index.ts'
import type { ReplicationGate } from '../exchange/replication-gate.ts'
import type { GateNotice } from './thread-messages.ts'

/** The gate of the main thread, where publishing waits, as the swarm thread sees it. */
export class RemoteGate implements ReplicationGate {
  readonly #tell: (notice: GateNotice) => void
  #isOpen: boolean

  constructor(isOpen: boolean, tell: (notice: GateNotice) => void) {
    this.#isOpen = isOpen
    this.#tell = tell
  }

  get isInDoubt(): boolean {
    return !this.#isOpen
  }

  open(): void {
    this.#isOpen = true
  }

  connected(peer: string): void {
    this.#tell({ is: 'connected', peer })
  }

  disconnected(peer: string): void {
    this.#tell({ is: 'disconnected', peer })
  }

  compared(peer: string, streams: readonly OwnComparison[]): void {
    this.#tell({ is: 'compared', peer, streams })
  }

  behind(peer: string, { stream, count }: Pick<OwnComparison, 'stream' | 'count'>): void {
    this.#tell({ is: 'behind', peer, stream, count })
  }

  adopted(stream: number, count: number): void {
    this.#tell({ is: 'adopted', stream, count })
  }

  froze(stream: number): void {
    this.#tell({ is: 'froze', stream })
  }
}

/** The other end in the main thread: passes notices of the swarm thread to the gate. */
export class GateNotices {
  readonly #gate: ReplicationGate
  readonly #connected = new Set<string>()

  constructor(gate: ReplicationGate) {
    this.#gate = gate
  }

  take(notice: GateNotice): void {
    switch (notice.is) {
      case 'connected':
        this.#connected.add(notice.peer)
        this.#gate.connected(notice.peer)
        break
      case 'disconnected':
        this.#connected.delete(notice.peer)
        this.#gate.disconnected(notice.peer)
        break
      case 'compared':
        this.#gate.compared(notice.peer, notice.streams)
        break
      case 'behind':
        this.#gate.behind(notice.peer, notice)
        break
      case 'adopted':
        this.#gate.adopted(notice.stream, notice.count)
        break
      case 'froze':
        this.#gate.froze(notice.stream)
    }
  }

  /** The swarm thread has ended, and its connections with it. */
  threadEnded(): void {
    for (const peer of this.#connected) this.#gate.disconnected(peer)
    this.#connected.clear()
  }
}
