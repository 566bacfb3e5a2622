/** The UnixFS message in a block. */
export type UnixFsData =
  | { readonly type: 'directory' }
  | {
      readonly type: 'file'
      /** Content in the block itself. */
      readonly data: Uint8Array
      readonly size: number
      /** Bytes of the file below each link. */
      readonly blockSizes: readonly number[]
    }

/** Thrown for data that is not valid UnixFS. */
export class MalformedUnixFs extends Error {
  override readonly name = 'MalformedUnixFs'
}

/** UnixFS types. Leaves of other implementations may have the type raw. */
const kinds = { raw: 0, directory: 1, file: 2 } as const
/** Protobuf tags: field number × 8 + wire type. */
const fields = { type: 0x08, data: 0x12, size: 0x18, blockSize: 0x20 } as const
/** For encoders of leaves that do not use `encodeUnixFs`. */
export const unixFsFields = { ...fields, file: kinds.file } as const
const varint = 0
const fixed64 = 1
const bytes = 2
const fixed32 = 5

/** The order of the fields must not change: CIDs depend on it. */
export function encodeUnixFs(data: UnixFsData): Uint8Array {
  if (data.type === 'directory') return Uint8Array.of(fields.type, kinds.directory)
  const content = data.data
  const head: number[] = [fields.type, kinds.file]
  if (content.length > 0) head.push(fields.data, ...encodeVarint(content.length))
  const tail: number[] = [fields.size, ...encodeVarint(data.size)]
  for (const size of data.blockSizes) tail.push(fields.blockSize, ...encodeVarint(size))
  const encoded = new Uint8Array(head.length + content.length + tail.length)
  encoded.set(head)
  encoded.set(content, head.length)
  encoded.set(tail, head.length + content.length)
  return encoded
}

export function encodeVarint(value: number): number[] {
  const encoded: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) encoded.push((rest % 0x80) | 0x80)
  encoded.push(rest)
  return encoded
}

/** Decodes untrusted data. */
export function decodeUnixFs(encoded: Uint8Array): UnixFsData {
  const reader = new Reader(encoded)
  let kind: number | undefined
  let data: Uint8Array = new Uint8Array(0)
  let size: number | undefined
  const blockSizes: number[] = []
  while (!reader.isAtEnd) {
    const field = reader.varint()
    if (field === fields.type) kind = reader.varint()
    else if (field === fields.data) data = reader.bytes()
    else if (field === fields.size) size = reader.varint()
    else if (field === fields.blockSize) blockSizes.push(reader.varint())
    else reader.skip(field % 8)
  }
  if (kind === kinds.directory) return { type: 'directory' }
  if (kind !== kinds.file && kind !== kinds.raw) throw new MalformedUnixFs('it is neither a file nor a directory')
  const sum = blockSizes.reduce((total, part) => total + part, data.length)
  if ((size ?? sum) !== sum || !Number.isSafeInteger(sum)) throw new MalformedUnixFs('its sizes do not add up')
  return { type: 'file', data, size: sum, blockSizes }
}

/** Reads protobuf fields. */
class Reader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(encoded: Uint8Array) {
    this.#bytes = encoded
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  varint(): number {
    let value = 0
    for (let factor = 1; factor <= 2 ** 49; factor *= 0x80) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new MalformedUnixFs('it ends too early')
      value += (byte % 0x80) * factor
      if (byte < 0x80) return value
    }
    throw new MalformedUnixFs('a number is too large')
  }

  bytes(): Uint8Array {
    return this.#take(this.varint())
  }

  /** Skips an unknown field. */
  skip(wireType: number): void {
    if (wireType === varint) this.varint()
    else if (wireType === bytes) this.bytes()
    else if (wireType === fixed64) this.#take(8)
    else if (wireType === fixed32) this.#take(4)
    else throw new MalformedUnixFs(`there is no field of type ${wireType}`)
  }

  #take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new MalformedUnixFs('it ends too early')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}
