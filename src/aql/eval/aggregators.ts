import type { AggregateOperator } from '../ast.ts'
import { arithmetic, notNumber } from '../values/arithmetic.ts'
import { compare } from '../values/comparison.ts'
import { compareEventKeys } from '../values/event.ts'
import { caught, Failure } from '../values/failure.ts'
import { firstOf, lastOf, type Metadata, MetadataSum } from '../values/metadata.ts'
import { isNumber } from '../values/numbers.ts'
import { show } from '../values/show.ts'
import { Decimal, type Value } from '../values/value.ts'
import { notBool } from './operators.ts'

/** The accumulator of an aggregator. */
export interface Aggregator {
  add(value: Value, metadata: Metadata, anti: boolean): void
  /** The value, or a failure: that of the first unsuitable input, or because there was no input. */
  result(): Value | Failure
  readonly metadata: Metadata
  /** A retained value that may be large, for memory accounting. */
  readonly held?: Value | undefined
}

export function aggregator(operator: AggregateOperator): Aggregator {
  switch (operator) {
    case 'SUM':
      return new Total(0, '+', '-', (trues) => trues > 0)
    case 'PRODUCT':
      return new Total(1, '*', '/', (_, falses) => falses === 0)
    case 'MIN':
      return new Extreme('min', (sign) => sign < 0)
    case 'MAX':
      return new Extreme('max', (sign) => sign > 0)
    case 'FIRST':
    case 'LAST':
      return new Edge(operator)
  }
}

const noValue = new Failure('no value added')

/** SUM and PRODUCT. The first input decides whether they fold numbers or booleans. */
class Total implements Aggregator {
  readonly #operator: '+' | '*'
  readonly #inverse: '-' | '/'
  readonly #booleanResult: (trues: number, falses: number) => boolean
  readonly #origin = new MetadataSum()
  #kind: 'numbers' | 'booleans' | undefined
  #sum: Value
  #trues = 0
  #falses = 0
  #failure: Failure = noValue

  constructor(
    neutral: number,
    operator: '+' | '*',
    inverse: '-' | '/',
    booleanResult: (trues: number, falses: number) => boolean,
  ) {
    this.#sum = neutral
    this.#operator = operator
    this.#inverse = inverse
    this.#booleanResult = booleanResult
  }

  add(value: Value, metadata: Metadata, anti: boolean): void {
    this.#origin.add(metadata)
    if (this.#failure !== noValue) return
    try {
      const isFirst = this.#kind === undefined
      this.#kind ??= kindOfTotal(value)
      // Adding -0.0 to the neutral element would lose its sign.
      if (isFirst && !anti && value instanceof Decimal) this.#sum = value
      else if (this.#kind === 'numbers') this.#sum = arithmetic[anti ? this.#inverse : this.#operator](this.#sum, value)
      else if (typeof value !== 'boolean') throw notBool(value, metadata)
      else if (value) this.#trues += anti ? -1 : 1
      else this.#falses += anti ? -1 : 1
    } catch (thrown) {
      // PRODUCT uses the same message.
      this.#failure = new Failure(`incompatible types in sum: ${caught(thrown).message}`)
    }
  }

  result(): Value | Failure {
    if (this.#kind === undefined || this.#failure !== noValue) return this.#failure
    return this.#kind === 'numbers' ? this.#sum : this.#booleanResult(this.#trues, this.#falses)
  }

  get metadata(): Metadata {
    return this.#origin.metadata
  }
}

function kindOfTotal(value: Value): 'numbers' | 'booleans' {
  if (typeof value === 'boolean') return 'booleans'
  if (isNumber(value)) return 'numbers'
  throw notNumber(value)
}

/** MIN and MAX. */
class Extreme implements Aggregator {
  readonly #name: 'min' | 'max'
  readonly #isBetter: (sign: number) => boolean
  #value: Value | undefined
  #failure: Failure | undefined
  metadata: Metadata

  constructor(name: 'min' | 'max', isBetter: (sign: number) => boolean) {
    this.#name = name
    this.#isBetter = isBetter
  }

  add(value: Value, metadata: Metadata, anti: boolean): void {
    if (anti) throw irreversible(this.#name)
    if (this.#failure !== undefined) return
    if (this.#value !== undefined) {
      const sign = compare(value, this.#value)
      if (sign === undefined) {
        const pair = `${show(this.#value, this.metadata)} to ${show(value, metadata)}`
        this.#failure = new Failure(`incompatible types in ${this.#name}: cannot compare ${pair}`)
        return
      }
      if (!this.#isBetter(sign)) return
    }
    this.#value = value
    this.metadata = metadata
  }

  get held(): Value | undefined {
    return this.#value
  }

  result(): Value | Failure {
    if (this.#failure !== undefined) return this.#failure
    return this.#value === undefined ? noValue : this.#value
  }
}

/** FIRST and LAST, by event key. */
class Edge implements Aggregator {
  readonly #operator: 'FIRST' | 'LAST'
  #value: Value | undefined
  metadata: Metadata

  constructor(operator: 'FIRST' | 'LAST') {
    this.#operator = operator
  }

  add(value: Value, metadata: Metadata, anti: boolean): void {
    if (anti) throw irreversible(this.#operator)
    if (this.#value !== undefined && !this.#replaces(metadata)) return
    this.#value = value
    this.metadata = metadata
  }

  /** Values without metadata sort before all others. Among themselves the last input is the last. */
  #replaces(metadata: Metadata): boolean {
    const known = this.metadata
    const isLast = this.#operator === 'LAST'
    if (known === undefined) return isLast
    if (metadata === undefined) return !isLast
    const [first, last] = [
      compareEventKeys(firstOf(metadata), firstOf(known)),
      compareEventKeys(lastOf(metadata), lastOf(known)),
    ]
    return isLast ? (last || first) > 0 : (first || last) < 0
  }

  get held(): Value | undefined {
    return this.#value
  }

  result(): Value | Failure {
    return this.#value === undefined ? noValue : this.#value
  }
}

function irreversible(name: string): Failure {
  return new Failure(`anti-input cannot be processed in ${name.toUpperCase()}()`, true)
}
