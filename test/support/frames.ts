/** A WebSocket frame. */
export interface Frame {
  readonly opcode: number
  readonly fin: boolean
  readonly data: Buffer
  /** A length in the header that differs from the length of the data. */
  readonly told?: number
}

const mask = Buffer.from([1, 2, 3, 4])

/** Encodes a client frame, with masking (RFC 6455, section 5.2). */
export function clientFrame({ opcode, fin, data, told = data.length }: Frame): Buffer {
  const first = (fin ? 0x80 : 0) | opcode
  const masked = Buffer.from(data)
  for (let i = 0; i < masked.length; i++) masked[i] = (masked[i] as number) ^ (mask[i % 4] as number)
  return Buffer.concat([Buffer.from([first]), lengthOf(told), mask, masked])
}

function lengthOf(length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | length])
  if (length < 65536) return Buffer.from([0x80 | 126, length >> 8, length & 0xff])
  const bytes = Buffer.alloc(9)
  bytes[0] = 0x80 | 127
  bytes.writeBigUInt64BE(BigInt(length), 1)
  return bytes
}
