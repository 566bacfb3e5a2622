import { assert } from '../../base/assert.ts'

interface Caller {
  resolve(value: unknown): void
  reject(error: Error): void
}

let lastId = 0

/** A number for a question to a thread that no other question has. */
export function newId(): number {
  return ++lastId
}

/** Those who have asked a thread something and wait for its answer. */
export class Waiting {
  readonly #callers = new Map<number, Caller>()
  /** Callers up to this number were told that there is no answer; one may come all the same. */
  #failedUpTo = 0

  /** Whether somebody waits for an answer with this number. */
  has(id: number): boolean {
    return this.#callers.has(id)
  }

  ask(post: (id: number) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = newId()
      post(id)
      this.#callers.set(id, { resolve, reject })
    })
  }

  settle(id: number, result: unknown, error: Error | undefined): void {
    const caller = this.#callers.get(id)
    assert(caller !== undefined || id <= this.#failedUpTo, 'an answer belongs to a question that is open')
    this.#callers.delete(id)
    if (error === undefined) caller?.resolve(result)
    else caller?.reject(error)
  }

  failAll(error: Error): void {
    for (const { reject } of this.#callers.values()) reject(error)
    this.#callers.clear()
    this.#failedUpTo = lastId
  }
}
