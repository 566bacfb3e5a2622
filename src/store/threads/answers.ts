import { assert } from '../../assert.ts'
import { Hope } from './hope.ts'

/**
 * The way of answers back from the writer. To wake up an event loop with a message takes half as long as a quick commit, so
 * whoever has sent a small request looks for the answer in memory that both threads share, for a moment and between
 * whatever else its event loop has to do. The writer leaves answers there while somebody looks, and sends a message otherwise.
 */
const places = {
  away: 0,
  looking: 1,
  /** There are answers, which nobody has taken. */
  told: 2,
} as const

const bytes = 4096
const headBytes = 8

/** For how long to look, in milliseconds: a sync of a quick disk, and the way there and back, take half of it. */
const lookMs = 0.5

export function newAnswers(): SharedArrayBuffer {
  return new SharedArrayBuffer(bytes)
}

class Slot {
  readonly place: Int32Array
  /** How many numbers there are, and these. */
  readonly numbers: Float64Array

  constructor(memory: SharedArrayBuffer) {
    assert(memory.byteLength === bytes, 'answers have their room')
    this.place = new Int32Array(memory, 0, 1)
    this.numbers = new Float64Array(memory, headBytes)
  }

  /** Changes the place if it is the one that is expected; answers what it was. */
  change(expected: number, next: number): number {
    return Atomics.compareExchange(this.place, 0, expected, next)
  }
}

/** The side of the writer. */
export class AnswersTold {
  readonly #slot: Slot

  constructor(memory: SharedArrayBuffer) {
    this.#slot = new Slot(memory)
  }

  /** Leaves answers for whoever looks; says whether somebody does, and they have room. */
  tell(answers: Float64Array): boolean {
    const { place, numbers } = this.#slot
    if (Atomics.load(place, 0) !== places.looking || answers.length >= numbers.length) return false
    numbers[0] = answers.length
    numbers.set(answers, 1)
    return this.#slot.change(places.looking, places.told) === places.looking
  }
}

/** The side of those who wait for answers. */
export class AnswersLookedFor {
  readonly #slot: Slot
  readonly #receive: (answers: Float64Array) => void
  #until = 0
  #isLooking = false
  #isScheduled = false
  /** There is none where the disk is slow, or the processors are taken. */
  readonly #hope = new Hope()

  constructor(memory: SharedArrayBuffer, receive: (answers: Float64Array) => void) {
    this.#slot = new Slot(memory)
    this.#receive = receive
  }

  /** Looks for answers for a moment from now on. */
  look(): void {
    if (this.#isLooking || !this.#hope.isThere()) return
    this.#isLooking = true
    this.#until = performance.now() + lookMs
    Atomics.store(this.#slot.place, 0, places.looking)
    this.#schedule()
  }

  /** Takes answers that are there: whatever comes as a message came after them. */
  take(): void {
    const { place, numbers } = this.#slot
    if (Atomics.load(place, 0) !== places.told) return
    this.#isLooking = false
    this.#hope.rise()
    const answers = numbers.slice(1, 1 + (numbers[0] as number))
    Atomics.store(place, 0, places.away)
    this.#receive(answers)
  }

  #schedule(): void {
    if (!this.#isScheduled) setImmediate(this.#lookAgain)
    this.#isScheduled = true
  }

  readonly #lookAgain = (): void => {
    this.#isScheduled = false
    this.take()
    if (!this.#isLooking) return
    if (performance.now() < this.#until) this.#schedule()
    else if (this.#slot.change(places.looking, places.away) === places.told) this.take()
    else {
      this.#isLooking = false
      this.#hope.sink()
    }
  }
}
