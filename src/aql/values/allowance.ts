import { aqlLimits } from '../language-limits.ts'
import { Failure } from './failure.ts'

/**
 * What a query may do and hold until it can give way, in bytes: texts and arrays that it makes or compares, payloads that
 * it reads, results of nested queries. An expression is evaluated in one go, so without this a short query could double
 * a text a few times, and then compare it for hours or fill the memory with it.
 */
export class Allowance {
  #spent = 0
  /** What is still held when the next event or item comes: by queries further out, and by results collected so far. */
  #held = 0

  /** Work that follows is at the expense of this one. A thread runs one query at a time. */
  activate(): void {
    current = this
  }

  spend(bytes: number): void {
    this.#spent += bytes
    if (this.#spent > most) throw tooMuch()
  }

  /** Spends what stays beyond the event or item at hand. */
  hold(bytes: number): void {
    this.#held += bytes
    this.spend(bytes)
  }

  /** One event or item is done with, and what was made of it goes. Returns what that was. */
  settle(): number {
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

  /** Begins a loop, for the time of which everything stays that is there now. */
  enter(): void {
    this.#held = this.#spent
  }

  /** Ends the loop: what was spent and held before it still is, the rest is gone. */
  leave(spent: number, held: number): void {
    this.#spent = spent
    this.#held = held
  }
}

let current: Allowance | undefined

/** Bytes that a query may hold: less than the limit where the node may use little memory. */
let most: number = aqlLimits.heldBytes

/** Lowers what each query of this thread may hold. */
export function boundAllowances(bytes: number): void {
  most = Math.min(aqlLimits.heldBytes, bytes)
}

/** Spends from the allowance of the query that runs. */
export function spend(bytes: number): void {
  current?.spend(bytes)
}

function tooMuch(): Failure {
  return new Failure(`the query holds too much at once (limit heldBytes: ${most})`)
}
