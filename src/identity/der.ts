/** The subset of DER that certificates of nodes use. */
export const tags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const

/** The tag of an explicitly tagged element. */
export function explicit(number: number): number {
  return 0xa0 | number
}

export function der(tag: number, ...content: readonly (Uint8Array | string)[]): Buffer {
  const bytes = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  return Buffer.concat([Buffer.of(tag), lengthBytes(bytes.length), bytes])
}

export function sequence(...content: readonly Uint8Array[]): Buffer {
  return der(tags.sequence, ...content)
}

/** An object identifier such as `2.5.4.3`. */
export function objectIdentifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return der(tags.objectIdentifier, Buffer.from([40 * first + second, ...rest.flatMap(base128)]))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest & 0x7f))
  return bytes
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length)
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  const significant = bytes.subarray(bytes.findIndex((byte) => byte !== 0))
  return Buffer.concat([Buffer.of(0x80 | significant.length), significant])
}

export interface Element {
  readonly tag: number
  readonly content: Buffer
}

/** The elements of a constructed element; undefined when it is malformed. */
export function elementsOf(bytes: Buffer): Element[] | undefined {
  const elements: Element[] = []
  for (let at = 0; at < bytes.length; ) {
    const head = headAt(bytes, at)
    if (head === undefined || head.end > bytes.length) return undefined
    elements.push({ tag: bytes[at] ?? 0, content: bytes.subarray(head.start, head.end) })
    at = head.end
  }
  return elements
}

function headAt(bytes: Buffer, at: number): { readonly start: number; readonly end: number } | undefined {
  const first = bytes[at + 1]
  if (first === undefined) return undefined
  if (first < 0x80) return { start: at + 2, end: at + 2 + first }
  const count = first & 0x7f
  const start = at + 2 + count
  if (count === 0 || count > 4 || start > bytes.length) return undefined
  return { start, end: start + bytes.readUIntBE(at + 2, count) }
}
