/**
 * A counter of posted messages in shared memory. The writer thread can block on it until the next message is posted,
 * which wakes it faster than its event loop would. A busy reader thread can tell from it that messages wait. The
 * messages themselves go through message ports.
 */
export class PostSignal {
  readonly memory: SharedArrayBuffer
  readonly #count: Int32Array

  constructor(memory = new SharedArrayBuffer(4)) {
    this.memory = memory
    this.#count = new Int32Array(memory)
  }

  get count(): number {
    return Atomics.load(this.#count, 0)
  }

  /** Whether more messages were posted than the given number of received ones. */
  isAheadOf(received: number): boolean {
    // As 32-bit integers, which overflow.
    return ((this.count - received) | 0) > 0
  }

  /** Counts a message. Called after it was posted, so that a thread that wakes up finds it. */
  raise(): void {
    Atomics.add(this.#count, 0, 1)
    Atomics.notify(this.#count, 0)
  }

  /** Blocks while the count is `seen`, up to a timeout. Returns whether the count has changed. */
  wait(seen: number, milliseconds: number): boolean {
    return Atomics.wait(this.#count, 0, seen, milliseconds) !== 'timed-out'
  }
}
