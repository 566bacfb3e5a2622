import type { Order } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { Pace } from '../steps.ts'
import { Allowance } from '../values/allowance.ts'
import type { AqlEvent } from '../values/event.ts'
import type { Failure } from '../values/failure.ts'
import type { FieldReader, missing } from '../values/json-field.ts'
import { readJson } from '../values/json-read.ts'
import { type Metadata, Span } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { EventProvider, Slice } from './event-provider.ts'

/** Field lookups after which parsing the whole payload is cheaper. */
const maxFieldLookups = 3

/** Receives the results of a query. */
export interface Output {
  /** A result in a slot of the frame. */
  emit(frame: Frame, slot: number, anti: boolean): void
  /** A failure in place of a result. A sub-query rethrows it and ends. */
  failed(failure: Failure): void
}

/** State shared by the queries of one request. */
export class Session {
  readonly events: EventProvider
  /** The requesting app: `appId(me)`. */
  readonly appId: string
  /** Plan cache by source: the last plan and its evaluated tag templates. The plan is valid while those are equal. */
  readonly plans = new Map<object, { readonly tags: readonly string[]; readonly plan: Plan }>()
  /** Counts work that is not per event: planning, and opening cursors. */
  readonly pace = new Pace()
  readonly allowance = new Allowance()
  readonly #slice: Slice
  readonly #stepsPerEvent: number
  readonly #holders: { readonly heldBytes: number }[] = []

  constructor(events: EventProvider, appId: string, slice: Slice, stepsPerEvent = 1) {
    this.events = events
    this.appId = appId
    this.#slice = slice
    this.#stepsPerEvent = stepsPerEvent
  }

  /**
   * Registers a holder of values for memory accounting. Sub-queries end with each evaluation, so they do not count.
   */
  opened(holder: { readonly heldBytes: number }, { outer }: Frame): void {
    if (outer?.outer === undefined) this.#holders.push(holder)
  }

  /** Estimated bytes that are held until the next time slice. */
  get heldBytes(): number {
    let bytes = this.allowance.spent
    for (const holder of this.#holders) bytes += holder.heldBytes
    return bytes
  }

  /** Whether to yield. Called once per event or item. */
  step(): boolean {
    // Work on large values counts like many events.
    const steps = this.#stepsPerEvent + (this.allowance.releaseTransient() >> 10)
    return this.#slice.isFull === true || this.#slice.isOver(steps)
  }
}

/** The activation record of one run of a query: its variables. Slots are assigned at compile time. */
export class Frame {
  readonly session: Session
  readonly outer: Frame | undefined
  /** `undefined` where the payload of an event is not parsed yet. */
  readonly values: (Value | undefined)[]
  readonly metadata: Metadata[]
  readonly output: Output
  /** The event order, if it allows stopping early. */
  readonly order: Order | undefined
  /** Metadata of the value computed last, where it is not known at compile time. */
  computed: Metadata = undefined
  /** Failures of aggregators by the slot of their result. */
  failures: Map<number, Failure> | undefined
  /** Values that SELECT has produced from the current event. */
  selected = 0
  /** The payload text of the event in the first slot, once accessed, and the number of field lookups in it. */
  #text: string | undefined
  #fields = 0
  /** Whether further input cannot change the result. */
  done = false
  /** Whether the first input settles the result, be it a value or a failure. */
  settledByFirst = false

  constructor(slots: number, session: Session, output: Output, order?: Order, outer?: Frame) {
    this.session = session
    this.outer = outer
    this.values = new Array(slots).fill(null)
    this.metadata = new Array(slots).fill(undefined)
    this.output = output
    this.order = order
  }

  /** The payload of the event in the first slot, parsed lazily. */
  read(): Value {
    const known = this.values[0]
    if (known !== undefined) return known
    const event = this.metadata[0]
    const text = event === undefined || event instanceof Span ? 'null' : (this.#text ?? event.payload)
    // The parsed value takes a multiple of the text length.
    this.session.allowance.spend((this.#text === undefined ? 4 : 3) * text.length)
    const value = readJson(text)
    this.values[0] = value
    return value
  }

  /** A field extracted without parsing; `undefined` if the payload is parsed already or after too many lookups. */
  field(reader: FieldReader): Value | typeof missing | undefined {
    const event = this.metadata[0]
    if (event === undefined || event instanceof Span || this.values[0] !== undefined) return undefined
    if (this.#fields++ >= maxFieldLookups) return undefined
    if (this.#text === undefined) {
      this.#text = event.payload
      this.session.allowance.spend(this.#text.length)
    }
    return reader.read(this.#text)
  }

  /** Reports a failure in place of the value of a stage. */
  failed(failure: Failure): void {
    if (this.settledByFirst) this.done = true
    this.output.failed(failure)
  }

  set(slot: number, value: Value, metadata: Metadata): void {
    this.values[slot] = value
    this.metadata[slot] = metadata
  }

  /** Starts a pass with an item of an array. */
  setItem(value: Value, metadata: Metadata): void {
    this.set(0, value, metadata)
    this.selected = 0
  }

  /** Starts a pass with an event. */
  setEvent(event: AqlEvent): void {
    this.values[0] = undefined
    this.metadata[0] = event
    this.#text = undefined
    this.#fields = 0
    this.selected = 0
  }
}
