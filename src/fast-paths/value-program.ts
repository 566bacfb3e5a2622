import { format } from '../base/format.ts'
import { block, type Code, i8x16, i32, ifElse, type Label, type Local, type Locals, loop, v128 } from './wasm-code.ts'

/** Digits before or after the decimal point of a number. Longer numbers are left to the scanner. */
const maxDigits = 50

const { add, eq, eqz, gtU, increment, leU, load, load8, ne, or, sub } = i32

export const vectorBytes = 16
export const charCode = (text: string): Code => i32.const(text.charCodeAt(0))
/** Four ASCII characters as an `i32.load` returns them. */
export const fourChars = (text: string): Code => i32.const(Buffer.from(text).readInt32LE())

const splatChar = (text: string): Code => i8x16.splat(charCode(text))

/**
 * Emits code (SIMD) that skips a JSON value without whitespace, escapes or exponents, sixteen bytes at a time. The
 * input is UTF-8 and zero-terminated. Anything else branches to the label that the caller passes.
 */
export class ValueProgram {
  /** The address of the next byte of input. */
  readonly input: Local
  /** The sixteen bytes of input that are being scanned. */
  readonly vector: Local
  /** A bit for each byte of the vector that ends a scan. */
  readonly mask: Local
  readonly #byte: Local
  readonly #start: Local
  readonly #depth: Local
  /** The address of a stack with the closing bracket of each open array or object. */
  readonly #bracketStack: number

  constructor(locals: Locals, input: Local, bracketStack: number) {
    this.input = input
    this.vector = locals.v128()
    this.mask = locals.i32()
    this.#byte = locals.i32()
    this.#start = locals.i32()
    this.#depth = locals.i32()
    this.#bracketStack = bracketStack
  }

  get currentByte(): Code {
    return load8(this.input.get)
  }

  get advance(): Code {
    return increment(this.input, 1)
  }

  expect(text: string, fail: Label): Code {
    return [fail.brIf(ne(this.currentByte, charCode(text))), this.advance]
  }

  /** The mask of quotes, backslashes and control characters, which end a string or need the scanner. */
  get stringDelimiters(): Code {
    const { get } = this.vector
    return i8x16.bitmask(
      v128.or(i8x16.eq(get, splatChar('"')), i8x16.eq(get, splatChar('\\')), i8x16.ltU(get, splatChar(' '))),
    )
  }

  /** Advances to the first byte for which `mask` has a bit. `afterVector` runs after each vector without one. */
  skipUntil(mask: Code, afterVector: Code = []): Code {
    const { input, mask: found } = this
    return [
      loop((next) => [found.set(mask), ifElse(eqz(found.get), [increment(input, vectorBytes), afterVector, next.br])]),
      input.set(add(input.get, i32.ctz(found.get))),
    ]
  }

  /** Skips a value, however deeply nested: a loop with a stack of brackets, since the function cannot recurse. */
  skipValue(fail: Label): Code {
    const [byte, depth] = [this.#byte, this.#depth]
    const closingBracket = load8(depth.get, this.#bracketStack - 1)
    const nameInObject = ifElse(eq(closingBracket, charCode('}')), this.#skipName(fail))
    return [
      depth.set(i32.const(0)),
      block((end) =>
        loop((nextValue) => [
          block((skipped) => [
            byte.set(this.currentByte),
            ifElse(eq(byte.get, charCode('"')), [this.advance, this.#skipString(fail), skipped.br]),
            ifElse(leU(byte.get, charCode('9')), [this.#skipNumber(fail), skipped.br]),
            ifElse(or(eq(byte.get, charCode('{')), eq(byte.get, charCode('['))), [
              fail.brIf(eq(depth.get, i32.const(format.jsonNesting))),
              this.advance,
              // In ASCII a closing bracket is its opening bracket plus two.
              increment(byte, 2),
              ifElse(eq(this.currentByte, byte.get), [this.advance, skipped.br]),
              i32.store8(add(depth.get, i32.const(this.#bracketStack)), byte.get),
              increment(depth, 1),
              nameInObject,
              nextValue.br,
            ]),
            this.#skipLiteral(fail),
          ]),
          loop((nextBracket) => [
            end.brIf(eqz(depth.get)),
            ifElse(eq(this.currentByte, closingBracket), [this.advance, increment(depth, -1), nextBracket.br]),
          ]),
          this.expect(',', fail),
          nameInObject,
          nextValue.br,
        ]),
      ),
    ]
  }

  /** Skips the rest of a string, after its opening quote. */
  #skipString(fail: Label): Code {
    const delimiters = [this.vector.set(v128.load(this.input.get, 0)), this.stringDelimiters]
    return [this.skipUntil(delimiters), this.expect('"', fail)]
  }

  #skipName(fail: Label): Code {
    return [this.expect('"', fail), this.#skipString(fail), this.expect(':', fail)]
  }

  #skipNumber(fail: Label): Code {
    return [
      ifElse(eq(this.currentByte, charCode('-')), this.advance),
      ifElse(eq(this.currentByte, charCode('0')), this.advance, this.#skipDigits(fail)),
      ifElse(eq(this.currentByte, charCode('.')), [this.advance, this.#skipDigits(fail)]),
    ]
  }

  /** Skips one or more digits. */
  #skipDigits(fail: Label): Code {
    const { input } = this
    const digits = i8x16.sub(v128.load(input.get, 0), splatChar('0'))
    const count = sub(input.get, this.#start.get)
    return [
      this.#start.set(input.get),
      this.skipUntil(i8x16.bitmask(i8x16.geU(digits, i8x16.splat(i32.const(10))))),
      fail.brIf(eqz(count)),
      fail.brIf(gtU(count, i32.const(maxDigits))),
    ]
  }

  #skipLiteral(fail: Label): Code {
    const { input } = this
    const chars = load(input.get, 0)
    return ifElse(or(eq(chars, fourChars('true')), eq(chars, fourChars('null'))), increment(input, 4), [
      fail.brIf(ne(chars, fourChars('fals'))),
      fail.brIf(ne(load8(input.get, 4), charCode('e'))),
      increment(input, 5),
    ])
  }
}
