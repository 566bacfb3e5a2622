import assert from 'node:assert/strict'
import type { Reading } from '../../../src/store/port/index.ts'
import { compareKeys, type EventKey, eventOf, newStartOf, type ReceivedEvent, readLines } from '../event-lines.ts'
import type { Ledger } from '../ledger.ts'
import { firstDifference } from '../trace.ts'
import type { WholeNode } from '../whole-node.ts'
import { allEvents } from './subscriber.ts'

/** Its payload is checked with the other subscription. */
type Delivered = Omit<ReceivedEvent, 'line'>

export interface MonotonicSubscriberOptions {
  readonly node: WholeNode
  readonly ledger: Ledger
  readonly fail: (error: unknown) => void
  /** Calls back after the time that a client takes to subscribe again. */
  readonly later: (work: () => void) => void
}

/**
 * A client with `subscribe_monotonic`: events arrive in the total order. After a time travel message it goes back to
 * the new start and subscribes again.
 */
export class MonotonicSubscriber {
  readonly #options: MonotonicSubscriberOptions
  #delivered: Delivered[] = []
  /** The last one of the events that were removed since: the node may still know its place, or not any more. */
  #lastRemoved: EventKey | undefined
  #reading: Reading | undefined
  /** Whether the last line of the subscription was a time travel message. */
  #isBack = false

  constructor(options: MonotonicSubscriberOptions) {
    this.#options = options
  }

  /** Subscribes to what has not arrived yet. */
  start(): void {
    const { node, ledger, fail, later: soon } = this.#options
    const lowerBound = Object.fromEntries(this.#delivered.map(({ stream, offset }) => [stream, offset]))
    // A node does not know the place of removed events any more, so later ones may sort before them.
    const isRemoved = ({ stream, offset }: Delivered): boolean => ledger.isRemoved(stream, offset)
    const removed = this.#delivered.findLast(isRemoved)
    this.#lastRemoved = later(this.#lastRemoved, removed)
    this.#delivered = this.#delivered.filter((event) => !isRemoved(event))
    const reading = node.store.start('subscribe_monotonic', { ...allEvents, lowerBound })
    this.#reading = reading
    this.#isBack = false
    readLines(reading, (line) => this.#line(line))
      .then(() => {
        if (this.#reading !== reading) return
        assert.ok(this.#isBack, `a monotonic subscription of ${node.label} has ended without time travel`)
        soon(() => {
          if (this.#reading === reading) this.start()
        })
      })
      .catch(fail)
  }

  stop(): void {
    const reading = this.#reading
    this.#reading = undefined
    reading?.cancel()
  }

  /** Starts from nothing the next time: its node has lost events. */
  forget(): void {
    this.#delivered = []
    this.#lastRemoved = undefined
  }

  /** Fails unless it has received the result of a query, in the same order. */
  checkComplete(events: readonly ReceivedEvent[]): void {
    const { node, ledger } = this.#options
    const { label } = node
    // What was removed after it had arrived is not in the result of the query.
    const kept = this.#delivered.filter(({ stream, offset }) => !ledger.isRemoved(stream, offset))
    const expected = events.filter(({ stream, offset }) => !ledger.isRemoved(stream, offset))
    const keyOf = ({ lamport, stream, offset }: Delivered): string => `${lamport}/${stream}/${offset}`
    const difference = firstDifference(expected.map(keyOf), kept.map(keyOf))
    assert.equal(difference, undefined, `events of a query and of a monotonic subscription of ${label}`)
  }

  #line(line: string): void {
    const { label } = this.#options.node
    if (this.#isBack) assert.fail(`a monotonic subscription of ${label} continues after time travel`)
    const newStart = newStartOf(line)
    if (newStart !== undefined) this.#goBack(newStart)
    const event = eventOf(line)
    if (event === undefined) return
    const { lamport, stream, offset } = event
    const last = this.#delivered.at(-1)
    if (last !== undefined && compareKeys(last, event) >= 0)
      assert.fail(`a monotonic subscription of ${label} has ${lamport}/${stream} after ${last.lamport}/${last.stream}`)
    this.#delivered.push({ lamport, stream, offset })
  }

  #goBack(newStart: EventKey): void {
    const { label } = this.#options.node
    const last = later(this.#lastRemoved, this.#delivered.at(-1))
    assert.ok(
      last !== undefined && compareKeys(newStart, last) < 0,
      `time travel of ${label} to an event that is not before the last one`,
    )
    this.#isBack = true
    if (this.#lastRemoved !== undefined && compareKeys(this.#lastRemoved, newStart) >= 0) this.#lastRemoved = undefined
    this.#delivered = this.#delivered.filter((event) => compareKeys(event, newStart) < 0)
  }
}

/** The later one of two events. */
function later(a: EventKey | undefined, b: EventKey | undefined): EventKey | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return compareKeys(a, b) > 0 ? a : b
}
