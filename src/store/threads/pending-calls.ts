import { assert } from '../../base/assert.ts'

interface PendingCall {
  resolve(value: unknown): void
  reject(error: Error): void
}

let lastId = 0

/** Returns a unique ID for a call to a thread or a job. */
export function newId(): number {
  return ++lastId
}

/** The calls to a thread that have no reply yet. */
export class PendingCalls {
  readonly #callers = new Map<number, PendingCall>()
  /** Calls up to this ID were rejected by `failAll`; late replies to them are ignored. */
  #failedUpTo = 0

  has(id: number): boolean {
    return this.#callers.has(id)
  }

  /** Posts a call under a new ID. Resolves when that ID is settled. */
  add(post: (id: number) => void): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const id = newId()
      post(id)
      this.#callers.set(id, { resolve, reject })
    })
  }

  settle(id: number, result: unknown, error: Error | undefined): void {
    const caller = this.#callers.get(id)
    assert(caller !== undefined || id <= this.#failedUpTo, 'a reply belongs to a pending call')
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
