import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { character, either, is, isAbove, isNot, minus, plus, ValueProgram, vectorBytes, word } from './value-program.ts'
import {
  block,
  type Code,
  type Local,
  Locals,
  loop,
  memory,
  number,
  type Place,
  vector,
  wasmModule,
  when,
} from './wasm-code.ts'

/** Bytes that an event counts besides its labels and payload: its positions. */
const bytesPerEvent = 20

/** Bytes of a tag, and tags of an event, at most: each of these numbers is one byte. */
const longestTag = 0x7f
const mostTags = Math.min(format.tagsPerEvent, 0x7f)

/** Bytes of an app ID, with its length before it. */
export const appRoom = format.appIdBytes + 2

/** What is told about each event: start and end of its labels, start and end of its payload. */
export const eventWords = 4
/** Instead of the start of labels: the tags are not in order. Where their list begins stands in the place of the end. */
export const unordered = 0

const pageBytes = 64 * 1024

/** Bytes of text that there is room for, and of the zeros that have to stand behind it. */
export const textBytes = pageBytes
export const zeroBytes = 2 * vectorBytes

/** Where things are in the memory. */
export const places = {
  /** What came of it: where it stopped in the text, and in what it wrote; how many events it has read. */
  stoppedAt: 0,
  writtenTo: 4,
  count: 8,
  closing: 16,
  app: 16 + limits.jsonNesting,
  events: 4096,
  text: pageBytes,
  written: 3 * pageBytes,
} as const

assert(places.app + appRoom <= places.events, 'there is room for an app ID')
assert(places.text + textBytes + zeroBytes <= places.written, 'there is room for a text')
// What is enough is looked at after each event, so it does not fall by more than one of them below what was written before it.
assert(places.written > appRoom + textBytes + bytesPerEvent, 'what is enough stays a place')

const pages = 8

/** Events that can be read at once. */
export const mostEvents = Math.floor((places.text - places.events) / (4 * eventWords))
/** Bytes that one event has written at most: its labels, whatever of it stands in the text, and what is written ahead. */
const eventRoom = appRoom + textBytes + longestTag + vectorBytes
/** Bytes that can be written before the last event. */
export const mostWritten = pages * pageBytes - places.written - eventRoom

const { constant, increase, isZero, load, loadByte, loadHalf } = number

/**
 * WebAssembly that reads many events of a list in one run: `{"tags":["a","b"],"payload":…}`, in either order, as JSON
 * serializers write it. Labels and payloads are written one after the other. It is the fast path: it ends after the last
 * event, at the limit of events or bytes, or before an event of another form, which the scanner validates.
 */
export class EventProgram {
  readonly #locals = new Locals(5)
  readonly #at = this.#locals.parameter(0)
  readonly #to = this.#locals.parameter(1)
  readonly #enough = this.#locals.parameter(2)
  readonly #appBytes = this.#locals.parameter(3)
  readonly #most = this.#locals.parameter(4)
  readonly #json = new ValueProgram(this.#locals, this.#at, places.closing)
  /** The byte behind an item, which says what comes next. */
  readonly #after = this.#locals.number()
  /** Where something begins that is read at the moment, and how long it is. */
  readonly #start = this.#locals.number()
  readonly #length = this.#locals.number()
  readonly #event = new ReadEvent(this.#locals)
  readonly #tag = new ReadTag(this.#locals)

  /** To be run with where the text begins, where to write, where it would be enough, the length of the app ID, and how many events. */
  module(): Uint8Array<ArrayBuffer> {
    const [at, to, event] = [this.#at, this.#to, this.#event]
    const [count, readTo, writtenTo] = [this.#locals.number(), this.#locals.number(), this.#locals.number()]
    const passed = [readTo.set(at.get), writtenTo.set(to.get)]
    const body = [
      passed,
      block((end) =>
        loop((again) => [
          this.#oneEvent(end),
          passed,
          increase(count, 1),
          increase(event.entry, 4 * eventWords),
          increase(this.#enough, -bytesPerEvent),
          end.goIf(isNot(this.#after.get, character(','))),
          end.goIf(number.do('isAtMost', this.#enough.get, to.get)),
          end.goIf(is(count.get, this.#most.get)),
          this.#json.next,
          again.go,
        ]),
      ),
      number.store(constant(places.stoppedAt), readTo.get),
      number.store(constant(places.writtenTo), writtenTo.get),
      number.store(constant(places.count), count.get),
    ]
    return wasmModule(this.#locals, body, pages)
  }

  #oneEvent(fail: Place): Code {
    const json = this.#json
    const { hasTags, hasPayload } = this.#event
    return [
      json.expect('{', fail),
      hasTags.set(constant(0)),
      hasPayload.set(constant(0)),
      this.#items(this.#member(fail)),
      fail.goIf(isNot(this.#after.get, character('}'))),
      fail.goIf(isZero(number.do('and', hasTags.get, hasPayload.get))),
      // What is behind it is right, too: an event that was read is not looked at again.
      this.#after.set(json.here),
      when(isNot(this.#after.get, character(']')), fail.goIf(isNot(this.#after.get, character(',')))),
    ]
  }

  /** One item after the other, as long as there is a comma behind it; passes over what is there instead. */
  #items(item: Code): Code {
    const after = this.#after
    return loop((again) => [
      item,
      after.set(this.#json.here),
      this.#json.next,
      again.goIf(is(after.get, character(','))),
    ])
  }

  #member(fail: Place): Code {
    const at = this.#at
    const isThere = (text: string): Code[] =>
      [0, 4].map((offset) => isNot(load(at.get, offset), word(text.slice(offset, offset + 4))))
    const once = (has: Local): Code => [fail.goIf(has.get), has.set(constant(1))]
    const [tags, payload] = ['"tags":[', '"payload":']
    return when(
      is(loadByte(at.get, 1), character('t')),
      [
        isThere(tags).map((isOther) => fail.goIf(isOther)),
        once(this.#event.hasTags),
        increase(at, tags.length),
        this.#tags(fail),
      ],
      [
        isThere(payload).map((isOther) => fail.goIf(isOther)),
        fail.goIf(isNot(loadHalf(at.get, 8), constant(Buffer.from(payload).readInt16LE(8)))),
        once(this.#event.hasPayload),
        increase(at, payload.length),
        this.#payload(fail),
      ],
    )
  }

  #payload(fail: Place): Code {
    const [at, to, start, length] = [this.#at, this.#to, this.#start, this.#length]
    return [
      start.set(at.get),
      this.#json.value(fail),
      length.set(minus(at.get, start.get)),
      memory.copy(to.get, start.get, length.get),
      this.#event.tell(2, to.get),
      to.set(plus(to.get, length.get)),
      this.#event.tell(3, to.get),
    ]
  }

  /** Passes over a list of tags, behind its bracket, and writes its labels if they are in order. */
  #tags(fail: Place): Code {
    const [at, to, tag, event] = [this.#at, this.#to, this.#tag, this.#event]
    const countAt = plus(event.labels.get, this.#appBytes.get)
    return [
      event.list.set(minus(at.get, constant(1))),
      event.labels.set(to.get),
      memory.copy(to.get, constant(places.app), this.#appBytes.get),
      to.set(plus(countAt, constant(1))),
      tag.count.set(constant(0)),
      tag.before.set(constant(0)),
      tag.areInOrder.set(constant(1)),
      this.#items(this.#oneTag(fail)),
      fail.goIf(isNot(this.#after.get, character(']'))),
      number.storeByte(countAt, tag.count.get),
      when(
        tag.areInOrder.get,
        [event.tell(0, event.labels.get), event.tell(1, to.get)],
        [
          event.tell(0, constant(unordered)),
          event.tell(1, event.list.get),
          // Others write them, behind all of this.
          this.#enough.set(minus(this.#enough.get, minus(to.get, event.labels.get))),
          to.set(event.labels.get),
        ],
      ),
    ]
  }

  #oneTag(fail: Place): Code {
    const [at, to, length, tag, json] = [this.#at, this.#to, this.#length, this.#tag, this.#json]
    return [
      json.expect('"', fail),
      tag.start.set(at.get),
      this.#start.set(plus(to.get, constant(1))),
      json.upTo(
        [
          json.piece.set(vector.load(at.get, 0)),
          vector.store(this.#start.get, 0, json.piece.get),
          // What is no ASCII has its highest bit set.
          either(json.special, vector.highBits(json.piece.get)),
        ],
        () => [
          increase(this.#start, vectorBytes),
          fail.goIf(isAbove(minus(at.get, tag.start.get), constant(longestTag))),
        ],
      ),
      tag.end.set(at.get),
      json.expect('"', fail),
      length.set(minus(tag.end.get, tag.start.get)),
      fail.goIf(isZero(length.get)),
      fail.goIf(isAbove(length.get, constant(longestTag))),
      number.storeByte(to.get, length.get),
      to.set(plus(plus(to.get, length.get), constant(1))),
      when(tag.before.get, this.#compareTags()),
      tag.before.set(tag.start.get),
      tag.beforeEnd.set(tag.end.get),
      fail.goIf(is(tag.count.get, constant(mostTags))),
      increase(tag.count, 1),
    ]
  }

  /** Sees whether a tag comes after the one before it. Behind each stands a quote, so they differ there at the latest, unless they are the same. */
  #compareTags(): Code {
    const { before, beforeEnd, start, end, areInOrder } = this.#tag
    const [length, bits] = [this.#length, this.#json.bits]
    const at = (tag: Local): Code => plus(tag.get, length.get)
    return block((known) => [
      length.set(constant(0)),
      loop((again) => [
        bits.set(vector.highBits(vector.isOtherByte(vector.load(at(before), 0), vector.load(at(start), 0)))),
        when(isZero(bits.get), [
          increase(length, vectorBytes),
          again.goIf(number.do('isAtMost', at(before), beforeEnd.get)),
        ]),
      ]),
      when(bits.get, length.set(plus(length.get, number.zerosBelow(bits.get)))),
      // The one before is the beginning of this one.
      known.goIf(is(at(before), beforeEnd.get)),
      when(
        either(
          isAbove(at(before), beforeEnd.get),
          either(is(at(start), end.get), isAbove(loadByte(at(before)), loadByte(at(start)))),
        ),
        areInOrder.set(constant(0)),
      ),
    ])
  }
}

/** What is known of the event that is being read. */
class ReadEvent {
  readonly hasTags: Local
  readonly hasPayload: Local
  readonly labels: Local
  readonly list: Local
  /** Where it is told, behind the first of all events. */
  readonly entry: Local

  constructor(locals: Locals) {
    this.hasTags = locals.number()
    this.hasPayload = locals.number()
    this.labels = locals.number()
    this.list = locals.number()
    this.entry = locals.number()
  }

  tell(index: number, value: Code): Code {
    return number.store(this.entry.get, value, places.events + 4 * index)
  }
}

/** A tag, the one before it, and what is known of all of them. */
class ReadTag {
  readonly start: Local
  readonly end: Local
  readonly before: Local
  readonly beforeEnd: Local
  readonly count: Local
  readonly areInOrder: Local

  constructor(locals: Locals) {
    this.start = locals.number()
    this.end = locals.number()
    this.before = locals.number()
    this.beforeEnd = locals.number()
    this.count = locals.number()
    this.areInOrder = locals.number()
  }
}
