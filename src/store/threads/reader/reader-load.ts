/** The number of waiting jobs of a reader thread, in shared memory: subscriptions that have caught up are no load. */
export class WaitingJobs {
  readonly memory: SharedArrayBuffer
  readonly #count: Int32Array

  constructor(memory = new SharedArrayBuffer(4)) {
    this.memory = memory
    this.#count = new Int32Array(memory)
  }

  get count(): number {
    return Atomics.load(this.#count, 0)
  }

  set count(jobs: number) {
    Atomics.store(this.#count, 0, jobs)
  }
}
