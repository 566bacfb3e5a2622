import type { Order } from '../ast.ts'
import type { Plan } from '../plan/plan.ts'
import { Pace } from '../steps.ts'
import { Allowance } from '../values/allowance.ts'
import type { AqlEvent } from '../values/event.ts'
import type { Failure } from '../values/failure.ts'
import type { FieldReader } from '../values/json-field.ts'
import { readJson } from '../values/json-read.ts'
import { type Metadata, Span } from '../values/metadata.ts'
import type { Value } from '../values/value.ts'
import type { Events, Turn } from './event-source.ts'

/** To look for so many fields takes as long as to read all of them. */
const mostFields = 3

/** Takes what a query comes to, one after the other. */
export interface Output {
  /** A value that stands in a slot of the frame. */
  emit(frame: Frame, slot: number, anti: boolean): void
  /** Takes the place of one value. A sub-query ends here, by throwing it on. */
  failed(failure: Failure): void
}

/** What all the queries of one request share. */
export class Session {
  readonly events: Events
  /** Who asks: `appId(me)`. */
  readonly appId: string
  /** By source its last plan, and the tags that its templates came to: while those are the same, so is the plan. */
  readonly plans = new Map<object, { readonly tags: readonly string[]; readonly plan: Plan }>()
  /** Of work that is not counted by events: planning, and opening cursors. */
  readonly pace = new Pace()
  readonly allowance = new Allowance()
  readonly #turn: Turn
  readonly #stepsPerEvent: number
  readonly #holders: { readonly heldBytes: number }[] = []

  constructor(events: Events, appId: string, turn: Turn, stepsPerEvent = 1) {
    this.events = events
    this.appId = appId
    this.#turn = turn
    this.#stepsPerEvent = stepsPerEvent
  }

  /** What holds values for as long as the request lasts. Nested queries end with each evaluation, and are not among them. */
  opened(holder: { readonly heldBytes: number }, { outer }: Frame): void {
    if (outer?.outer === undefined) this.#holders.push(holder)
  }

  /** Bytes that are held until the next turn, roughly. */
  get heldBytes(): number {
    let bytes = this.allowance.spent
    for (const holder of this.#holders) bytes += holder.heldBytes
    return bytes
  }

  /** Whether to give way. Called once per event or item. */
  step(): boolean {
    // Work on long values counts like many events.
    const steps = this.#stepsPerEvent + (this.allowance.settle() >> 10)
    return this.#turn.isFull === true || this.#turn.isOver(steps)
  }
}

/** The variables of one run of a query. Which slot a variable has is known since the query was compiled. */
export class Frame {
  readonly session: Session
  readonly outer: Frame | undefined
  /** Nothing where the payload of an event has not been read yet. */
  readonly values: (Value | undefined)[]
  readonly metadata: Metadata[]
  readonly output: Output
  /** The order in which events come, if that is of use for stopping early. */
  readonly order: Order | undefined
  /** Of the value that was computed last, where it cannot be told from the variables. */
  computed: Metadata = undefined
  /** Of aggregators without a result, by the slot where it would be. */
  failures: Map<number, Failure> | undefined
  /** Values that SELECT made of this event, or of the one before when it has not got to that yet. */
  selected = 0
  /** Of the event in the first slot: its payload, once it was asked for, and how many fields were looked for in it. */
  #text: string | undefined
  #fields = 0
  /** Whether nothing that may come can change what the query comes to. */
  done = false
  /** Whether the first thing that comes through settles it, be it a value or what went wrong instead. */
  settledByFirst = false

  constructor(slots: number, session: Session, output: Output, order?: Order, outer?: Frame) {
    this.session = session
    this.outer = outer
    this.values = new Array(slots).fill(null)
    this.metadata = new Array(slots).fill(undefined)
    this.output = output
    this.order = order
  }

  /** The payload of the event in the first slot, read when it is needed. */
  read(): Value {
    const known = this.values[0]
    if (known !== undefined) return known
    const event = this.metadata[0]
    const text = event === undefined || event instanceof Span ? 'null' : (this.#text ?? event.payload)
    // What becomes of it takes a multiple of its length.
    this.session.allowance.spend((this.#text === undefined ? 4 : 3) * text.length)
    const value = readJson(text)
    this.values[0] = value
    return value
  }

  /** A field of that payload, if it was not read and one look is enough for it; whoever wants many has to read it. */
  field(reader: FieldReader): Value | undefined {
    const event = this.metadata[0]
    if (event === undefined || event instanceof Span || this.values[0] !== undefined) return undefined
    if (this.#fields++ >= mostFields) return undefined
    if (this.#text === undefined) {
      this.#text = event.payload
      this.session.allowance.spend(this.#text.length)
    }
    return reader.read(this.#text)
  }

  /** What takes the place of a value that a stage should have made. */
  failed(failure: Failure): void {
    if (this.settledByFirst) this.done = true
    this.output.failed(failure)
  }

  set(slot: number, value: Value, metadata: Metadata): void {
    this.values[slot] = value
    this.metadata[slot] = metadata
  }

  /** Begins a pass with an item of an array. */
  setItem(value: Value, metadata: Metadata): void {
    this.set(0, value, metadata)
    this.selected = 0
  }

  /** Begins a pass with an event. */
  setEvent(event: AqlEvent): void {
    this.values[0] = undefined
    this.metadata[0] = event
    this.#text = undefined
    this.#fields = 0
    this.selected = 0
  }
}
