/**
 * The subset of CBOR that tokens, manifests and licences use: unsigned integers, text strings, arrays, and maps with
 * text keys. The encoder writes definite lengths, and map entries in insertion order.
 */
export type Cbor = number | string | readonly Cbor[] | { readonly [key: string]: Cbor }

class CborError extends Error {}

const kinds = { unsigned: 0, text: 3, list: 4, map: 5 } as const
const indefinite = 31
const breakByte = 0xff
/** Deeper than any valid document; protects the stack against hostile input. */
const maxDepth = 8

export function encodeCbor(value: Cbor): Buffer {
  if (typeof value === 'number') return head(kinds.unsigned, value)
  if (typeof value === 'string') return Buffer.concat([head(kinds.text, Buffer.byteLength(value)), Buffer.from(value)])
  if (isList(value)) return Buffer.concat([head(kinds.list, value.length), ...value.map(encodeCbor)])
  const members = Object.entries(value)
  const parts = members.flatMap(([key, member]) => [encodeCbor(key), encodeCbor(member)])
  return Buffer.concat([head(kinds.map, members.length), ...parts])
}

export function decodeCbor(bytes: Uint8Array): Cbor {
  const reader = new CborReader(bytes)
  const value = reader.value(0)
  reader.finish()
  return value
}

/** Decodes CBOR; undefined when it is malformed. */
export function cborIn(bytes: Uint8Array): Cbor | undefined {
  try {
    return decodeCbor(bytes)
  } catch (error) {
    if (error instanceof CborError) return undefined
    throw error
  }
}

function isList(value: Cbor): value is readonly Cbor[] {
  return Array.isArray(value)
}

function head(kind: number, value: number): Buffer {
  const first = kind << 5
  if (value < 24) return Buffer.of(first | value)
  const buffer = Buffer.alloc(9)
  if (value < 2 ** 8) return buffer.subarray(0, buffer.writeUInt8(value, buffer.writeUInt8(first | 24)))
  if (value < 2 ** 16) return buffer.subarray(0, buffer.writeUInt16BE(value, buffer.writeUInt8(first | 25)))
  if (value < 2 ** 32) return buffer.subarray(0, buffer.writeUInt32BE(value, buffer.writeUInt8(first | 26)))
  return buffer.subarray(0, buffer.writeBigUInt64BE(BigInt(value), buffer.writeUInt8(first | 27)))
}

class CborReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  value(depth: number): Cbor {
    if (depth > maxDepth) throw new CborError('nested too deep')
    const first = this.#take(1).readUInt8()
    const [kind, argument] = [first >> 5, first & 31]
    if (kind === kinds.unsigned) return this.#number(argument)
    if (kind === kinds.text) return this.#text(this.#number(argument))
    if (kind === kinds.list) return this.#items(argument, () => this.value(depth + 1))
    if (kind === kinds.map) return this.#map(argument, depth)
    throw new CborError(`unexpected byte ${first}`)
  }

  finish(): void {
    if (this.#at !== this.#bytes.length) throw new CborError('trailing data')
  }

  #map(argument: number, depth: number): Cbor {
    const members = this.#items(argument, () => {
      const key = this.value(depth + 1)
      if (typeof key !== 'string') throw new CborError('a key is not a text string')
      return [key, this.value(depth + 1)] as const
    })
    if (new Set(members.map(([key]) => key)).size < members.length) throw new CborError('duplicate key')
    return Object.fromEntries(members)
  }

  #items<T>(argument: number, item: () => T): T[] {
    const items: T[] = []
    if (argument === indefinite) {
      while (this.#bytes[this.#at] !== breakByte) items.push(item())
      this.#at++
      return items
    }
    for (let left = this.#number(argument); left > 0; left--) items.push(item())
    return items
  }

  #number(argument: number): number {
    if (argument < 24) return argument
    if (argument === 24) return this.#take(1).readUInt8()
    if (argument === 25) return this.#take(2).readUInt16BE()
    if (argument === 26) return this.#take(4).readUInt32BE()
    if (argument !== 27) throw new CborError('unexpected length')
    const value = Number(this.#take(8).readBigUInt64BE())
    if (!Number.isSafeInteger(value)) throw new CborError('a number is too large')
    return value
  }

  #text(length: number): string {
    const bytes = this.#take(length)
    const text = bytes.toString('utf8')
    if (!Buffer.from(text).equals(bytes)) throw new CborError('a text is not UTF-8')
    return text
  }

  #take(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new CborError('unexpected end')
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}
