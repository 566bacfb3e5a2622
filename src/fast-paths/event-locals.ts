import { type Code, i32, type Local, type Locals } from './wasm-code.ts'

/** State of the event that is being parsed. */
export class EventLocals {
  readonly hasTags: Local
  readonly hasPayload: Local
  readonly labels: Local
  readonly tagList: Local
  /** The offset of its record from that of the first event. */
  readonly record: Local

  /** The address of the records. */
  readonly #records: number

  constructor(locals: Locals, records: number) {
    this.#records = records
    this.hasTags = locals.i32()
    this.hasPayload = locals.i32()
    this.labels = locals.i32()
    this.tagList = locals.i32()
    this.record = locals.i32()
  }

  storeField(index: number, value: Code): Code {
    return i32.store(this.record.get, value, this.#records + 4 * index)
  }
}

/** State of the list of tags that is being parsed: the current tag and the previous one. */
export class TagLocals {
  readonly start: Local
  readonly end: Local
  readonly previous: Local
  readonly previousEnd: Local
  readonly count: Local
  /** The bytes of the current vector that are not ASCII, as a mask. */
  readonly nonAscii: Local
  /** Whether all tags are ASCII and sorted: in the form in which labels have them. */
  readonly areCanonical: Local

  constructor(locals: Locals) {
    this.start = locals.i32()
    this.end = locals.i32()
    this.previous = locals.i32()
    this.previousEnd = locals.i32()
    this.count = locals.i32()
    this.nonAscii = locals.i32()
    this.areCanonical = locals.i32()
  }
}
