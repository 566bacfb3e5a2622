/**
 * A WebAssembly function that parses many events of a JSON list per call: `{"tags":["a","b"],"payload":…}`, in either
 * order, as JSON serializers write it. It stops after the last event, at the limit of events or bytes, or before an
 * event of another form, which the scanner validates.
 *
 * Memory (`layout`): results and small buffers, a record of addresses for each event, the input with zeros after it,
 * and the output, to which labels and payloads are copied.
 */
import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { EventLocals, TagLocals } from './event-locals.ts'
import { charCode, fourChars, ValueProgram, vectorBytes } from './value-program.ts'
import {
  block,
  type Code,
  i8x16,
  i32,
  ifElse,
  type Label,
  type Local,
  Locals,
  loop,
  memory,
  v128,
  wasmModule,
} from './wasm-code.ts'

/** Bytes that an event counts in a batch besides its labels and payload: its spans and its stream. */
const bytesPerEvent = 20

/** Lengths and counts are varints; only those of one byte are written here. */
const maxTagBytes = 0x7f
const maxTags = Math.min(format.tagsPerEvent, 0x7f)

/** Bytes of an app ID with its length before it. */
export const maxAppIdBytes = format.appIdBytes + 2

/** The i32 fields of an event record: start and end of its labels, start and end of its payload. */
export const recordFields = 4
/** In place of the start of labels: the caller writes them. The next field is then the address of the list of tags. */
export const noLabels = 0

const pageBytes = 64 * 1024
const pages = 8

export const inputBytes = pageBytes
/** Zeros after the input, where every scan ends: vectors are loaded without bounds checks. */
export const paddingBytes = 2 * vectorBytes

/** The memory layout: the address of each area. */
export const layout = {
  /** Results, one i32 each: the end of the last event in the input, the end of the output, the number of events. */
  inputEnd: 0,
  outputEnd: 4,
  count: 8,
  bracketStack: 16,
  appId: 16 + format.jsonNesting,
  records: 4096,
  input: pageBytes,
  /** Labels and payloads, one after the other. */
  output: 3 * pageBytes,
} as const

assert(layout.appId + maxAppIdBytes <= layout.records, 'there is room for an app ID')
assert(layout.input + inputBytes + paddingBytes <= layout.output, 'there is room for the input')
// The limit is lowered for each event and checked after it, so it can fall below the output by one event.
assert(layout.output > maxAppIdBytes + inputBytes + bytesPerEvent, 'the output limit does not fall below zero')

export const maxEvents = Math.floor((layout.input - layout.records) / (4 * recordFields))
/** Bytes of output of one event: its app ID, its part of the input, and the rest of the last vector that is stored. */
const maxEventBytes = maxAppIdBytes + inputBytes + maxTagBytes + vectorBytes
/** The highest limit for which the last event still fits. */
export const maxOutputBytes = pages * pageBytes - layout.output - maxEventBytes

const { add, eq, eqz, gtU, increment, leU, load, load8, load16, ne, or, store8, sub } = i32

/** Emits the function. */
export class EventProgram {
  readonly #locals = new Locals(5)
  readonly #input = this.#locals.parameter(0)
  readonly #output = this.#locals.parameter(1)
  readonly #outputLimit = this.#locals.parameter(2)
  readonly #appIdBytes = this.#locals.parameter(3)
  readonly #maxEvents = this.#locals.parameter(4)
  readonly #json = new ValueProgram(this.#locals, this.#input, layout.bracketStack)
  /** The byte after an item: a comma or a closing bracket. */
  readonly #delimiter = this.#locals.i32()
  readonly #start = this.#locals.i32()
  readonly #length = this.#locals.i32()
  readonly #event = new EventLocals(this.#locals, layout.records)
  readonly #tag = new TagLocals(this.#locals)

  /** Parameters of `run`: addresses of input, output and output limit, length of the app ID, maximum of events. */
  module(): Uint8Array<ArrayBuffer> {
    const [input, output, event] = [this.#input, this.#output, this.#event]
    const [count, inputEnd, outputEnd] = [this.#locals.i32(), this.#locals.i32(), this.#locals.i32()]
    const setEnds = [inputEnd.set(input.get), outputEnd.set(output.get)]
    const body = [
      setEnds,
      block((end) =>
        loop((nextEvent) => [
          this.#parseEvent(end),
          setEnds,
          increment(count, 1),
          increment(event.record, 4 * recordFields),
          increment(this.#outputLimit, -bytesPerEvent),
          end.brIf(ne(this.#delimiter.get, charCode(','))),
          end.brIf(leU(this.#outputLimit.get, output.get)),
          end.brIf(eq(count.get, this.#maxEvents.get)),
          this.#json.advance,
          nextEvent.br,
        ]),
      ),
      i32.store(i32.const(layout.inputEnd), inputEnd.get),
      i32.store(i32.const(layout.outputEnd), outputEnd.get),
      i32.store(i32.const(layout.count), count.get),
    ]
    return wasmModule(this.#locals, body, pages)
  }

  #parseEvent(fail: Label): Code {
    const json = this.#json
    const { hasTags, hasPayload } = this.#event
    return [
      json.expect('{', fail),
      hasTags.set(i32.const(0)),
      hasPayload.set(i32.const(0)),
      this.#parseItems(this.#parseMember(fail)),
      fail.brIf(ne(this.#delimiter.get, charCode('}'))),
      fail.brIf(eqz(i32.and(hasTags.get, hasPayload.get))),
      // Checked here: the scanner does not see an event again that was parsed.
      this.#delimiter.set(json.currentByte),
      ifElse(ne(this.#delimiter.get, charCode(']')), fail.brIf(ne(this.#delimiter.get, charCode(',')))),
    ]
  }

  /** Parses items while a comma follows, and skips the delimiter after the last one. */
  #parseItems(parseItem: Code): Code {
    const delimiter = this.#delimiter
    return loop((nextItem) => [
      parseItem,
      delimiter.set(this.#json.currentByte),
      this.#json.advance,
      nextItem.brIf(eq(delimiter.get, charCode(','))),
    ])
  }

  #parseMember(fail: Label): Code {
    const input = this.#input
    const expectEightChars = (text: string): Code[] =>
      [0, 4].map((offset) => fail.brIf(ne(load(input.get, offset), fourChars(text.slice(offset, offset + 4)))))
    const setOnce = (flag: Local): Code => [fail.brIf(flag.get), flag.set(i32.const(1))]
    const [tags, payload] = ['"tags":[', '"payload":']
    return ifElse(
      eq(load8(input.get, 1), charCode('t')),
      [expectEightChars(tags), setOnce(this.#event.hasTags), increment(input, tags.length), this.#parseTags(fail)],
      [
        expectEightChars(payload),
        fail.brIf(ne(load16(input.get, 8), i32.const(Buffer.from(payload).readInt16LE(8)))),
        setOnce(this.#event.hasPayload),
        increment(input, payload.length),
        this.#copyPayload(fail),
      ],
    )
  }

  #copyPayload(fail: Label): Code {
    const [input, output, start, length] = [this.#input, this.#output, this.#start, this.#length]
    return [
      start.set(input.get),
      this.#json.skipValue(fail),
      length.set(sub(input.get, start.get)),
      memory.copy(output.get, start.get, length.get),
      this.#event.storeField(2, output.get),
      output.set(add(output.get, length.get)),
      this.#event.storeField(3, output.get),
    ]
  }

  /** Parses a list of tags, after its bracket, and keeps the labels in the output if the tags are sorted ASCII. */
  #parseTags(fail: Label): Code {
    const [input, output, tag, event] = [this.#input, this.#output, this.#tag, this.#event]
    const countAddress = add(event.labels.get, this.#appIdBytes.get)
    return [
      event.tagList.set(sub(input.get, i32.const(1))),
      event.labels.set(output.get),
      memory.copy(output.get, i32.const(layout.appId), this.#appIdBytes.get),
      output.set(add(countAddress, i32.const(1))),
      tag.count.set(i32.const(0)),
      tag.previous.set(i32.const(0)),
      tag.areCanonical.set(i32.const(1)),
      this.#parseItems(this.#parseTag(fail)),
      fail.brIf(ne(this.#delimiter.get, charCode(']'))),
      store8(countAddress, tag.count.get),
      ifElse(
        tag.areCanonical.get,
        [event.storeField(0, event.labels.get), event.storeField(1, output.get)],
        [
          event.storeField(0, i32.const(noLabels)),
          event.storeField(1, event.tagList.get),
          // The caller sorts and normalises the tags and writes the labels after the output, so they still count.
          this.#outputLimit.set(sub(this.#outputLimit.get, sub(output.get, event.labels.get))),
          output.set(event.labels.get),
        ],
      ),
    ]
  }

  #parseTag(fail: Label): Code {
    const [input, output, length, tag, json] = [this.#input, this.#output, this.#length, this.#tag, this.#json]
    return [
      json.expect('"', fail),
      tag.start.set(input.get),
      this.#start.set(add(output.get, i32.const(1))),
      json.skipUntil(
        [
          json.vector.set(v128.load(input.get, 0)),
          v128.store(this.#start.get, 0, json.vector.get),
          // Bytes that are not ASCII have their highest bit set.
          tag.nonAscii.set(i8x16.bitmask(json.vector.get)),
          json.stringDelimiters,
        ],
        [
          ifElse(tag.nonAscii.get, tag.areCanonical.set(i32.const(0))),
          increment(this.#start, vectorBytes),
          fail.brIf(gtU(sub(input.get, tag.start.get), i32.const(maxTagBytes))),
        ],
      ),
      ifElse(i32.and(tag.nonAscii.get, bitsBelowLowest(json.mask)), tag.areCanonical.set(i32.const(0))),
      tag.end.set(input.get),
      json.expect('"', fail),
      length.set(sub(tag.end.get, tag.start.get)),
      fail.brIf(eqz(length.get)),
      fail.brIf(gtU(length.get, i32.const(maxTagBytes))),
      store8(output.get, length.get),
      output.set(add(add(output.get, length.get), i32.const(1))),
      ifElse(tag.previous.get, this.#compareTags()),
      tag.previous.set(tag.start.get),
      tag.previousEnd.set(tag.end.get),
      fail.brIf(eq(tag.count.get, i32.const(maxTags))),
      increment(tag.count, 1),
    ]
  }

  /** Clears `areCanonical` unless a tag is greater than the previous one. The comparison includes the closing quotes. */
  #compareTags(): Code {
    const { previous, previousEnd, start, end, areCanonical } = this.#tag
    const [prefix, mask] = [this.#length, this.#json.mask]
    const afterPrefix = (tag: Local): Code => add(tag.get, prefix.get)
    return block((sorted) => [
      prefix.set(i32.const(0)),
      loop((nextVector) => [
        mask.set(i8x16.bitmask(i8x16.ne(v128.load(afterPrefix(previous), 0), v128.load(afterPrefix(start), 0)))),
        ifElse(eqz(mask.get), [
          increment(prefix, vectorBytes),
          nextVector.brIf(leU(afterPrefix(previous), previousEnd.get)),
        ]),
      ]),
      ifElse(mask.get, prefix.set(add(prefix.get, i32.ctz(mask.get)))),
      // The previous tag is a prefix of this one.
      sorted.brIf(eq(afterPrefix(previous), previousEnd.get)),
      ifElse(
        or(
          gtU(afterPrefix(previous), previousEnd.get),
          or(eq(afterPrefix(start), end.get), gtU(load8(afterPrefix(previous)), load8(afterPrefix(start)))),
        ),
        areCanonical.set(i32.const(0)),
      ),
    ])
  }
}

/** The bits below the lowest one that is set. */
function bitsBelowLowest(mask: Local): Code {
  return sub(i32.and(mask.get, sub(i32.const(0), mask.get)), i32.const(1))
}
