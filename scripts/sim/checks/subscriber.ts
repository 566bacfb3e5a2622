import assert from 'node:assert/strict'
import type { Reading } from '../../../src/store/port/index.ts'
import { checkNext, checkUnaltered, eventOf, type ReceivedEvent, readLines } from '../event-lines.ts'
import type { Ledger } from '../ledger.ts'
import type { WholeNode } from '../whole-node.ts'

export const appId = 'com.example.sim'
export const allEvents = { query: 'FROM allEvents', appId, via: 'node' } as const

export interface SubscriberOptions {
  readonly node: WholeNode
  readonly ledger: Ledger
  readonly fail: (error: unknown) => void
  /** Called with every event. */
  readonly onEvent: (event: ReceivedEvent) => void
}

/** A client with `subscribe`: each event arrives exactly once, the events of a stream in order and without gaps. */
export class Subscriber {
  readonly #options: SubscriberOptions
  /** The number of events of each stream that have arrived. */
  readonly #counts = new Map<string, number>()
  #reading: Reading | undefined

  constructor(options: SubscriberOptions) {
    this.#options = options
  }

  /** Subscribes to what has not arrived yet. */
  start(): void {
    const { node, fail } = this.#options
    const lowerBound = Object.fromEntries([...this.#counts].map(([stream, count]) => [stream, count - 1]))
    const reading = node.store.start('subscribe', { ...allEvents, lowerBound })
    this.#reading = reading
    readLines(reading, (line) => this.#line(line))
      .then(() => assert.ok(this.#reading !== reading, `a subscription of ${node.label} has ended`))
      .catch(fail)
  }

  stop(): void {
    const reading = this.#reading
    this.#reading = undefined
    reading?.cancel()
  }

  /** Starts from nothing the next time: its node has lost events. */
  forget(): void {
    this.#counts.clear()
  }

  /** Fails unless everything that is stored has arrived. */
  async checkComplete(): Promise<void> {
    const { node, ledger } = this.#options
    for (const [stream, count] of await node.eventCounts()) {
      const next = ledger.nextKept(stream, this.#counts.get(stream) ?? 0)
      assert.ok(next >= count, `a subscription of ${node.label} lacks ${stream}/${next}`)
    }
  }

  #line(line: string): void {
    const event = eventOf(line)
    if (event === undefined) return
    const { node, ledger, onEvent } = this.#options
    const { stream, offset } = event
    checkNext(event, this.#counts.get(stream) ?? 0, ledger, node.label)
    this.#counts.set(stream, offset + 1)
    checkUnaltered(event, ledger, node.label)
    onEvent(event)
  }
}
