import { MalformedBytes } from '../../../protocol/index.ts'

/** The types of records that are used. */
export const recordTypes = { ptr: 12, txt: 16 } as const

const responseFlags = 0x8400
const internetClass = 1
/** A cache flush bit or a unicast response bit is set in the class. */
const classMask = 0x7fff
const maxNameBytes = 255
/** More records than any honest packet has. */
const maxRecords = 128

export interface DnsQuestion {
  readonly name: string
  readonly type: number
}

export interface DnsRecord {
  readonly name: string
  readonly type: number
  readonly ttlSeconds: number
  readonly data: Buffer
}

export interface DnsMessage {
  readonly isResponse: boolean
  readonly questions: readonly DnsQuestion[]
  /** Answers and additional records. */
  readonly records: readonly DnsRecord[]
}

/** Encodes a message of multicast DNS, without compression. */
export function encodeDns({ isResponse, questions, records }: DnsMessage): Buffer {
  const header = Buffer.alloc(12)
  header.writeUInt16BE(isResponse ? responseFlags : 0, 2)
  header.writeUInt16BE(questions.length, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([
    header,
    ...questions.flatMap(({ name, type }) => [encodeName(name), numbers(type, internetClass)]),
    ...records.flatMap(({ name, type, ttlSeconds, data }) => [
      encodeName(name),
      numbers(type, internetClass, ttlSeconds >>> 16, ttlSeconds & 0xffff, data.length),
      data,
    ]),
  ])
}

/** Decodes a message. Throws `MalformedBytes`. Names are in lower case. */
export function decodeDns(bytes: Buffer): DnsMessage {
  const reader = new DnsReader(bytes)
  reader.number()
  const isResponse = (reader.number() & 0x8000) !== 0
  const [questionCount, answers, authorities, additions] = [
    reader.number(),
    reader.number(),
    reader.number(),
    reader.number(),
  ]
  const recordCount = answers + authorities + additions
  if (questionCount + recordCount > maxRecords) throw new MalformedBytes('a DNS message has too many records')
  const questions = Array.from({ length: questionCount }, () => reader.question())
  const records = Array.from({ length: recordCount }, () => reader.record())
  return { isResponse, questions, records }
}

/** The strings of a TXT record. */
export function encodeTexts(texts: readonly string[]): Buffer {
  return Buffer.concat(texts.flatMap((text) => [Buffer.of(Buffer.byteLength(text)), Buffer.from(text)]))
}

export function decodeTexts(data: Buffer): string[] {
  const texts: string[] = []
  for (let at = 0; at < data.length; ) {
    const end = at + 1 + (data[at] ?? 0)
    if (end > data.length) throw new MalformedBytes('a text of a DNS record is cut')
    texts.push(data.toString('utf8', at + 1, end))
    at = end
  }
  return texts
}

export function encodeName(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [Buffer.of(label.length), Buffer.from(label, 'latin1')])
  return Buffer.concat([...labels, Buffer.of(0)])
}

function numbers(...values: number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length)
  for (const [i, value] of values.entries()) bytes.writeUInt16BE(value, 2 * i)
  return bytes
}

class DnsReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  number(): number {
    const at = this.#skip(2)
    return this.#bytes.readUInt16BE(at)
  }

  question(): DnsQuestion {
    const name = this.#name()
    const type = this.number()
    this.number()
    return { name, type }
  }

  record(): DnsRecord {
    const name = this.#name()
    const type = this.number()
    const isInternet = (this.number() & classMask) === internetClass
    const ttlSeconds = this.number() * 0x10000 + this.number()
    const length = this.number()
    const at = this.#skip(length)
    // A record of another class has no meaning here.
    return { name, type: isInternet ? type : 0, ttlSeconds, data: this.#bytes.subarray(at, at + length) }
  }

  /** A name, which may continue at an earlier place. Each jump has to go back, so that names end. */
  #name(): string {
    const labels: string[] = []
    let at = this.#at
    let end: number | undefined
    let size = 0
    for (;;) {
      const length = this.#bytes[at]
      if (length === undefined) throw new MalformedBytes('a DNS name is cut')
      if (length === 0) break
      if (length >= 0xc0) {
        const target = (length & 0x3f) * 256 + (this.#bytes[at + 1] ?? 0)
        if (target >= at) throw new MalformedBytes('a DNS name points forward')
        end ??= at + 2
        at = target
        continue
      }
      size += length + 1
      if (length > 63 || size > maxNameBytes) throw new MalformedBytes('a DNS name is too long')
      labels.push(this.#bytes.toString('latin1', at + 1, at + 1 + length).toLowerCase())
      at += length + 1
    }
    this.#at = 0
    this.#skip(end ?? at + 1)
    return labels.join('.')
  }

  #skip(count: number): number {
    const at = this.#at
    if (at + count > this.#bytes.length) throw new MalformedBytes('a DNS message is cut')
    this.#at += count
    return at
  }
}
