import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Runtime } from '../../../runtime/system-runtime.ts'
import type { Timers } from '../../../runtime/timers.ts'
import { SpinBudget } from './spin-budget.ts'

/**
 * Responses of the writer through a slot in shared memory, which the main thread polls for a moment after it has sent a
 * small request: waking an event loop with a message takes half as long as a quick commit. While nobody polls, the writer
 * posts a message instead. Both sides count these messages, so that responses are delivered in the order of the commits.
 */
const places = {
  away: 0,
  looking: 1,
  /** There are answers, which nobody has taken. */
  told: 2,
} as const

const bytes = 4096
const headBytes = 8
const headNumbers = 2

/** For how long to look, in milliseconds: a sync of a quick disk, and the way there and back, take half of it. */
const lookMs = 0.5

export function newAnswers(): SharedArrayBuffer {
  return new SharedArrayBuffer(bytes)
}

class Slot {
  readonly place: Int32Array
  /** How many answers there are, how many messages were sent before them, and the answers. */
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

/** The side of the writer: everything that it has to say to those who ask. */
export class AnswersTold<M> {
  readonly #slot: Slot
  readonly #post: (message: Float64Array | M) => void
  #messages = 0

  constructor(memory: SharedArrayBuffer, post: (message: Float64Array | M) => void) {
    this.#slot = new Slot(memory)
    this.#post = post
  }

  /** Delivers results through the slot, or else as a message. */
  tell(answers: Float64Array): void {
    if (!this.#leave(answers)) this.send(answers)
  }

  /** Sends a message. */
  send(message: Float64Array | M): void {
    this.#post(message)
    // Afterwards: what cannot be sent does not come, and nothing may wait for it.
    this.#messages++
  }

  /** Leaves answers for whoever looks; says whether somebody does, and they have room. */
  #leave(answers: Float64Array): boolean {
    const { place, numbers } = this.#slot
    if (Atomics.load(place, 0) !== places.looking || headNumbers + answers.length > numbers.length) return false
    numbers[0] = answers.length
    numbers[1] = this.#messages
    numbers.set(answers, headNumbers)
    return this.#slot.change(places.looking, places.told) === places.looking
  }
}

/** The side of those who wait for answers. */
export class AnswersLookedFor {
  readonly #slot: Slot
  readonly #receive: (answers: Float64Array) => void
  readonly #clock: Clock
  readonly #timers: Timers
  #messages = 0
  #until = 0
  #isLooking = false
  #isScheduled = false
  /** There is none where the disk is slow, or the processors are taken. */
  readonly #spins = new SpinBudget()

  constructor(
    memory: SharedArrayBuffer,
    receive: (answers: Float64Array) => void,
    { clock, timers }: Pick<Runtime, 'clock' | 'timers'>,
  ) {
    this.#slot = new Slot(memory)
    this.#receive = receive
    this.#clock = clock
    this.#timers = timers
  }

  /** Looks for answers for a moment from now on. */
  look(): void {
    if (this.#isLooking || !this.#spins.allows()) return
    this.#isLooking = true
    this.#until = this.#clock.steadyMs() + lookMs
    Atomics.store(this.#slot.place, 0, places.looking)
    this.#schedule()
  }

  /** A message has come: what was left before it comes first, and what was left after it and waited for it comes then. */
  messageCame(receive: () => void): void {
    this.#take()
    this.#messages++
    receive()
    this.#take()
  }

  /** Takes answers that are there: no message comes any more. */
  takeLast(): void {
    this.#messages = Number.POSITIVE_INFINITY
    this.#take()
  }

  /** Takes answers that are there, unless a message is still on its way that was sent before them. */
  #take(): void {
    const { place, numbers } = this.#slot
    if (Atomics.load(place, 0) !== places.told || (numbers[1] as number) > this.#messages) return
    this.#isLooking = false
    this.#spins.hit()
    const count = numbers[0] as number
    assert(count > 0 && headNumbers + count <= numbers.length, 'answers stand within their room')
    const answers = numbers.slice(headNumbers, headNumbers + count)
    Atomics.store(place, 0, places.away)
    this.#receive(answers)
  }

  #schedule(): void {
    if (!this.#isScheduled) this.#timers.setImmediate(this.#lookAgain)
    this.#isScheduled = true
  }

  readonly #lookAgain = (): void => {
    this.#isScheduled = false
    this.#take()
    if (!this.#isLooking) return
    if (this.#clock.steadyMs() < this.#until) this.#schedule()
    else if (this.#slot.change(places.looking, places.away) === places.told) this.#take()
    else {
      this.#isLooking = false
      this.#spins.miss()
    }
  }
}
