import { limits } from '../base/limits.ts'
import { block, type Code, type Local, type Locals, loop, number, type Place, vector, when } from './wasm-code.ts'

/** Digits before or behind the point of a number that is not looked at any closer. */
const usualDigits = 50

const { constant, increase, isZero, load, loadByte } = number

export const vectorBytes = 16
export const is = (one: Code, other: Code): Code => number.do('isEqual', one, other)
export const isNot = (one: Code, other: Code): Code => number.do('isOther', one, other)
export const isAbove = (one: Code, other: Code): Code => number.do('isAbove', one, other)
export const plus = (one: Code, other: Code): Code => number.do('add', one, other)
export const minus = (one: Code, other: Code): Code => number.do('subtract', one, other)
export const either = (one: Code, other: Code): Code => number.do('or', one, other)
export const character = (text: string): Code => constant(text.charCodeAt(0))
/** Four characters as they are loaded. */
export const word = (text: string): Code => constant(Buffer.from(text).readInt32LE())

const everywhere = (text: string): Code => vector.splatByte(character(text))

/**
 * WebAssembly (SIMD) that skips a JSON value without whitespace, escapes or exponents, sixteen bytes at a time. The text is
 * UTF-8 and zero-terminated. Anything else branches to the label that the caller passes.
 */
export class ValueProgram {
  readonly at: Local
  /** Sixteen bytes of text. */
  readonly piece: Local
  /** A bit for each of them that is not what is looked for. */
  readonly bits: Local
  readonly #byte: Local
  readonly #start: Local
  readonly #depth: Local
  /** Where the brackets are kept that close what is open. */
  readonly #closing: number

  constructor(locals: Locals, at: Local, closing: number) {
    this.at = at
    this.piece = locals.vector()
    this.bits = locals.number()
    this.#byte = locals.number()
    this.#start = locals.number()
    this.#depth = locals.number()
    this.#closing = closing
  }

  get here(): Code {
    return loadByte(this.at.get)
  }

  get next(): Code {
    return increase(this.at, 1)
  }

  expect(text: string, fail: Place): Code {
    return [fail.goIf(isNot(this.here, character(text))), this.next]
  }

  /** Which bytes of the piece do not stand for themselves within a string. */
  get special(): Code {
    const { get } = this.piece
    return vector.highBits(
      vector.or(
        vector.isByte(get, everywhere('"')),
        vector.isByte(get, everywhere('\\')),
        vector.isByteBelow(get, everywhere(' ')),
      ),
    )
  }

  /** Goes on until a bit is set, and there. */
  upTo(look: Code, meanwhile: (again: Place) => Code = () => []): Code {
    const { at, bits } = this
    return [
      loop((again) => [
        bits.set(look),
        when(isZero(bits.get), [increase(at, vectorBytes), meanwhile(again), again.go]),
      ]),
      at.set(plus(at.get, number.zerosBelow(bits.get))),
    ]
  }

  /** Passes over a value with everything in it. */
  value(fail: Place): Code {
    const [byte, depth] = [this.#byte, this.#depth]
    const innermost = loadByte(depth.get, this.#closing - 1)
    const nameWithin = when(is(innermost, character('}')), this.#name(fail))
    return [
      depth.set(constant(0)),
      block((end) =>
        loop((again) => [
          block((passed) => [
            byte.set(this.here),
            when(is(byte.get, character('"')), [this.next, this.#string(fail), passed.go]),
            when(number.do('isAtMost', byte.get, character('9')), [this.#number(fail), passed.go]),
            when(either(is(byte.get, character('{')), is(byte.get, character('['))), [
              fail.goIf(is(depth.get, constant(limits.jsonNesting))),
              this.next,
              // A bracket that closes is two more than the one that opens.
              increase(byte, 2),
              when(is(this.here, byte.get), [this.next, passed.go]),
              number.storeByte(plus(depth.get, constant(this.#closing)), byte.get),
              increase(depth, 1),
              nameWithin,
              again.go,
            ]),
            this.#literal(fail),
          ]),
          loop((closing) => [
            end.goIf(isZero(depth.get)),
            when(is(this.here, innermost), [this.next, increase(depth, -1), closing.go]),
          ]),
          this.expect(',', fail),
          nameWithin,
          again.go,
        ]),
      ),
    ]
  }

  /** Passes over the rest of a string. */
  #string(fail: Place): Code {
    return [this.upTo([this.piece.set(vector.load(this.at.get, 0)), this.special]), this.expect('"', fail)]
  }

  #name(fail: Place): Code {
    return [this.expect('"', fail), this.#string(fail), this.expect(':', fail)]
  }

  #number(fail: Place): Code {
    return [
      when(is(this.here, character('-')), this.next),
      when(is(this.here, character('0')), this.next, this.#digits(fail)),
      when(is(this.here, character('.')), [this.next, this.#digits(fail)]),
    ]
  }

  /** Passes over one digit or more. */
  #digits(fail: Place): Code {
    const { at } = this
    const digits = vector.subtractBytes(vector.load(at.get, 0), everywhere('0'))
    const count = minus(at.get, this.#start.get)
    return [
      this.#start.set(at.get),
      this.upTo(vector.highBits(vector.isByteFrom(digits, vector.splatByte(constant(10))))),
      fail.goIf(isZero(count)),
      fail.goIf(isAbove(count, constant(usualDigits))),
    ]
  }

  #literal(fail: Place): Code {
    const { at } = this
    const four = load(at.get, 0)
    return when(either(is(four, word('true')), is(four, word('null'))), increase(at, 4), [
      fail.goIf(isNot(four, word('fals'))),
      fail.goIf(isNot(loadByte(at.get, 4), character('e'))),
      increase(at, 5),
    ])
  }
}
