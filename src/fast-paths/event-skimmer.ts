import { limits } from '../base/limits.ts'
import {
  EventProgram,
  inputBytes,
  layout,
  maxAppIdBytes,
  maxEvents,
  maxOutputBytes,
  noLabels,
  paddingBytes,
  recordFields,
} from './event-program.ts'
import { type WasmFunction, wasmFunction } from './wasm-code.ts'

/** With less input than this left in the memory, the last event may be cut off, so the input is refilled. */
const refillBytes = inputBytes / 4

/**
 * Parses events as JSON serializers write them, many per call. All publishers share it: its memory holds a part of one
 * reader's text, and the output of the last call.
 */
export class EventSkimmer {
  readonly #run: WasmFunction['run']
  readonly #bytes: Buffer
  readonly #words: Int32Array
  #readers = 0
  /** The reader whose text is in the memory, and the range of that text. */
  #reader = 0
  #from = 0
  #to = 0

  constructor({ memory, run }: WasmFunction) {
    this.#run = run
    this.#bytes = Buffer.from(memory)
    this.#words = new Int32Array(memory)
  }

  /** Returns an ID for the reader of a text. */
  newReader(): number {
    return ++this.#readers
  }

  /**
   * Parses events of a list in UTF-8 text, from the start of one, until the limit of bytes (as a batch counts them) or
   * events is reached. Returns their number: at least one, or 0 if only the scanner can read the first event. `appId`
   * has its length before it, as at the start of labels.
   */
  read(reader: number, text: Buffer, at: number, appId: Buffer, bytes: number, events: number): number {
    if (appId.length > maxAppIdBytes) return 0
    const isLoaded = reader === this.#reader && at >= this.#from && at < this.#to
    if (!isLoaded || (this.#to - at < refillBytes && this.#to < text.length)) this.#fill(reader, text, at, appId)
    const outputLimit = layout.output + clamp(bytes, maxOutputBytes)
    this.#run(layout.input + at - this.#from, layout.output, outputLimit, appId.length, clamp(events, maxEvents))
    return this.#words[layout.count / 4] as number
  }

  /** Labels and payloads of all events of the last call. */
  get output(): Buffer {
    return this.#bytes.subarray(layout.output, this.#words[layout.outputEnd / 4])
  }

  /** The end of the last event in the text. */
  get end(): number {
    return this.#toText(this.#words[layout.inputEnd / 4] as number)
  }

  /** Whether the labels of an event are in the output. If not, its tags are unsorted or not ASCII. */
  hasLabels(event: number): boolean {
    return this.#field(event, 0) !== noLabels
  }

  /** The start of the list of tags in the text, if the labels of an event are not in the output. */
  tagList(event: number): number {
    return this.#toText(this.#field(event, 1))
  }

  /** The start of the labels of an event in the output, if they are there. */
  labels(event: number): number {
    return this.#field(event, 0) - layout.output
  }

  labelsEnd(event: number): number {
    return this.#field(event, 1) - layout.output
  }

  /** The start of the payload of an event in the output. */
  payload(event: number): number {
    return this.#field(event, 2) - layout.output
  }

  payloadEnd(event: number): number {
    return this.#field(event, 3) - layout.output
  }

  #field(event: number, index: number): number {
    return this.#words[layout.records / 4 + recordFields * event + index] as number
  }

  /** Converts an address in the input into a position in the text. */
  #toText(address: number): number {
    return address - layout.input + this.#from
  }

  #fill(reader: number, text: Buffer, at: number, appId: Buffer): void {
    const end = Math.min(text.length, at + inputBytes)
    text.copy(this.#bytes, layout.input, at, end)
    const padding = layout.input + end - at
    this.#bytes.fill(0, padding, padding + paddingBytes)
    appId.copy(this.#bytes, layout.appId)
    this.#reader = reader
    this.#from = at
    this.#to = end
  }
}

function clamp(value: number, max: number): number {
  return Math.max(1, Math.min(value, max))
}

let shared: EventSkimmer | 'none' | undefined

/** The skimmer of this thread, which is compiled at the first call, or `none` where it does not work. */
export function eventSkimmer(): EventSkimmer | 'none' {
  shared ??= verified(() => wasmFunction(new EventProgram().module()))
  return shared
}

/** Returns the skimmer if it can be instantiated and passes a self-test. */
export function verified(make: () => WasmFunction | undefined): EventSkimmer | 'none' {
  try {
    const instance = make()
    if (instance === undefined) return 'none'
    const skimmer = new EventSkimmer(instance)
    return passesSelfTest(skimmer) ? skimmer : 'none'
  } catch {
    // Without WebAssembly the scanner reads all events: slower, with the same result.
    return 'none'
  }
}

function passesSelfTest(skimmer: EventSkimmer): boolean {
  const payload = '{"a":[true,false,null,-1.25,{}],"ä and more than sixteen bytes":"…"}'
  const text = `[{"tags":["a","ab"],"payload":${payload}},{"payload":0,"tags":["b","a"]},{"tags":["ä"],"payload":1},{}]`
  const bytes = Buffer.from(text)
  if (skimmer.read(skimmer.newReader(), bytes, 1, Buffer.from('\x01x'), bytes.length, limits.eventsPerPublish) !== 3)
    return false
  const part = (start: number, end: number): string => skimmer.output.toString('utf8', start, end)
  return (
    part(skimmer.labels(0), skimmer.labelsEnd(0)) === '\x01x\x02\x01a\x02ab' &&
    part(skimmer.payload(0), skimmer.payloadEnd(0)) === payload &&
    skimmer.hasLabels(0) &&
    !skimmer.hasLabels(1) &&
    !skimmer.hasLabels(2) &&
    skimmer.tagList(1) === Buffer.byteLength(text.slice(0, text.indexOf('["b"'))) &&
    part(skimmer.payload(1), skimmer.payloadEnd(1)) === '0' &&
    skimmer.end === bytes.length - ',{}]'.length
  )
}
