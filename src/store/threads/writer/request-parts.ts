import { release } from '../../../runtime/buffers.ts'
import type { AppendRequest } from '../../port/index.ts'
import { RequestAborted } from '../../sqlite/index.ts'
import type { Letter } from '../thread-messages.ts'

/** The parts of a request as they come, one after the other. */
export class Parts implements Iterable<AppendRequest> {
  readonly #next: () => Letter
  readonly #come: AppendRequest[] = []
  #last: Letter

  constructor(first: Letter, next: () => Letter) {
    this.#last = first
    this.#next = next
  }

  get isGivenUp(): boolean {
    return this.#last.part === 'givenUp'
  }

  *[Symbol.iterator](): Generator<AppendRequest> {
    for (;;) {
      this.#come.push(this.#last.request)
      yield this.#last.request
      if (this.#last.part !== 'more') return
      this.#last = this.#next()
      if (this.isGivenUp) throw new RequestAborted('the request was given up')
    }
  }

  /** Lets the rest pass: it is nobody else's. */
  finish(): void {
    while (this.#last.part === 'more') this.#last = this.#next()
  }

  /** Gives the memory of all of them back. */
  release(): void {
    for (const { source } of this.#come) release(source)
  }
}
