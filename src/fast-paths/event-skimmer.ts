import { limits } from '../base/limits.ts'
import {
  appRoom,
  EventProgram,
  eventWords,
  mostEvents,
  mostWritten,
  places,
  textBytes,
  unordered,
  zeroBytes,
} from './event-program.ts'
import { type WasmFunction, wasmFunction } from './wasm-code.ts'

/** With less of a text than this in the memory, and more behind it, an event may be cut there. */
const leastText = textBytes / 4

/**
 * Reads events as programs write them, many at a time, for all who publish. It has memory of its own, where a part of a text is and what
 * was made of it, until it is asked for more.
 */
export class EventSkimmer {
  readonly #run: WasmFunction['run']
  readonly #bytes: Buffer
  readonly #words: Int32Array
  #readers = 0
  /** Whose text is in the memory, from where to where. */
  #reader = 0
  #from = 0
  #to = 0

  constructor({ memory, run }: WasmFunction) {
    this.#run = run
    this.#bytes = Buffer.from(memory)
    this.#words = new Int32Array(memory)
  }

  /** A number for whoever has a text to read. */
  newReader(): number {
    return ++this.#readers
  }

  /**
   * Reads events of a list in a text, which is UTF-8, from where one begins: until they take so many bytes, as a batch counts them, and so
   * many at most, but one in any case. Answers how many; none where the first is one that only the scanner can read. The app ID is as labels begin.
   */
  read(reader: number, text: Buffer, at: number, appId: Buffer, bytes: number, most: number): number {
    if (appId.length > appRoom) return 0
    const isThere = reader === this.#reader && at >= this.#from && at < this.#to
    if (!isThere || (this.#to - at < leastText && this.#to < text.length)) this.#fill(reader, text, at, appId)
    const enough = places.written + within(bytes, mostWritten)
    this.#run(places.text + at - this.#from, places.written, enough, appId.length, within(most, mostEvents))
    return this.#words[places.count / 4] as number
  }

  /** Labels and payloads of all events that were read. */
  get written(): Buffer {
    return this.#bytes.subarray(places.written, this.#words[places.writtenTo / 4])
  }

  /** Where the last event ends in the text. */
  get end(): number {
    return this.#inText(this.#words[places.stoppedAt / 4] as number)
  }

  /** Whether the tags of an event are in order. If they are not, its labels are not written. */
  isOrdered(event: number): boolean {
    return this.#word(event, 0) !== unordered
  }

  /** Where the list of tags of an event begins in the text, if they are not in order. */
  tagList(event: number): number {
    return this.#inText(this.#word(event, 1))
  }

  /** Where the labels of an event start within what was written, if its tags are in order, and where they end. */
  labels(event: number): number {
    return this.#word(event, 0) - places.written
  }

  labelsEnd(event: number): number {
    return this.#word(event, 1) - places.written
  }

  /** Where the payload of an event starts within what was written, and where it ends. */
  payload(event: number): number {
    return this.#word(event, 2) - places.written
  }

  payloadEnd(event: number): number {
    return this.#word(event, 3) - places.written
  }

  #word(event: number, index: number): number {
    return this.#words[places.events / 4 + eventWords * event + index] as number
  }

  #inText(place: number): number {
    return place - places.text + this.#from
  }

  #fill(reader: number, text: Buffer, at: number, appId: Buffer): void {
    const end = Math.min(text.length, at + textBytes)
    text.copy(this.#bytes, places.text, at, end)
    const zeros = places.text + end - at
    this.#bytes.fill(0, zeros, zeros + zeroBytes)
    appId.copy(this.#bytes, places.app)
    this.#reader = reader
    this.#from = at
    this.#to = end
  }
}

function within(value: number, most: number): number {
  return Math.max(1, Math.min(value, most))
}

let known: EventSkimmer | 'none' | undefined

/** To read events with, where that can be. It is made when it is asked for first. */
export function eventSkimmer(): EventSkimmer | 'none' {
  known ??= trusted(() => wasmFunction(new EventProgram().module()))
  return known
}

/** Only what can be made, and reads an example as it is, is used. */
export function trusted(make: () => WasmFunction | undefined): EventSkimmer | 'none' {
  try {
    const made = make()
    if (made === undefined) return 'none'
    const skimmer = new EventSkimmer(made)
    return isRight(skimmer) ? skimmer : 'none'
  } catch {
    // Without WebAssembly events are read one by one, which is slower and gives the same result.
    return 'none'
  }
}

function isRight(skimmer: EventSkimmer): boolean {
  const payload = '{"a":[true,false,null,-1.25,{}],"ä and more than sixteen bytes":"…"}'
  const text = `[{"tags":["a","ab"],"payload":${payload}},{"payload":0,"tags":["b","a"]},{}]`
  const bytes = Buffer.from(text)
  if (skimmer.read(skimmer.newReader(), bytes, 1, Buffer.from('\x01x'), bytes.length, limits.eventsPerPublish) !== 2)
    return false
  const part = (start: number, end: number): string => skimmer.written.toString('utf8', start, end)
  return (
    part(skimmer.labels(0), skimmer.labelsEnd(0)) === '\x01x\x02\x01a\x02ab' &&
    part(skimmer.payload(0), skimmer.payloadEnd(0)) === payload &&
    skimmer.isOrdered(0) &&
    !skimmer.isOrdered(1) &&
    skimmer.tagList(1) === Buffer.byteLength(text.slice(0, text.indexOf('["b"'))) &&
    part(skimmer.payload(1), skimmer.payloadEnd(1)) === '0' &&
    skimmer.end === bytes.length - ',{}]'.length
  )
}
