import { aqlLimits } from '../language-limits.ts'
import { Failure } from './failure.ts'

/**
 * The budget of a query for work and memory, in bytes: strings and arrays that it creates or compares, payloads that it
 * parses, results of sub-queries. What one event or item has spent is released after it, what the query retains is
 * not. An expression is evaluated without yielding: without this limit a short query could double a string a few times
 * and then compare it for hours, or exhaust the memory.
 */
export class Allowance {
  #spent = 0
  /** Bytes retained beyond the current event or item: by outer queries, and by results collected so far. */
  #held = 0

  /** Charges the work that follows to this allowance. A thread runs one query at a time. */
  activate(): void {
    current = this
  }

  spend(bytes: number): void {
    this.#spent += bytes
    if (this.#spent > limitBytes) throw tooMuch()
  }

  /** Spends bytes that are retained beyond the current event or item. */
  hold(bytes: number): void {
    this.#held += bytes
    this.spend(bytes)
  }

  /** Releases what was spent on the current event or item. Returns how many bytes that was. */
  releaseTransient(): number {
    const work = this.#spent - this.#held
    this.#spent = this.#held
    return work
  }

  get spent(): number {
    return this.#spent
  }

  get held(): number {
    return this.#held
  }

  /** Begins a loop: everything spent so far is retained while it runs. */
  enter(): void {
    this.#held = this.#spent
  }

  /** Ends the loop: restores the counters saved before it. */
  leave(spent: number, held: number): void {
    this.#spent = spent
    this.#held = held
  }
}

let current: Allowance | undefined

/** Limit per query, in bytes; lower than the language limit on a node with little memory. */
let limitBytes: number = aqlLimits.heldBytes

/** Lowers the limit of all queries on this thread. */
export function boundAllowances(bytes: number): void {
  limitBytes = Math.min(aqlLimits.heldBytes, bytes)
}

/** Spends from the allowance of the running query. */
export function spend(bytes: number): void {
  current?.spend(bytes)
}

function tooMuch(): Failure {
  return new Failure(`the query holds too much at once (limit heldBytes: ${limitBytes})`)
}
