import type { ByteReader, ByteWriter, Labels } from '../../protocol/index.ts'
import type { Branch } from './selection.ts'

/**
 * Labels as the piece of an event's JSON between its timestamp and its payload: `,"tags":["a","b"],"appId":"x","payload":`.
 * They are made and looked at as bytes, without making strings or parsing JSON for every event.
 */
const tagsKey = ',"tags":['
const appKey = '],"appId":'
const payloadKey = ',"payload":'

const [quote, backslash, comma, space] = [0x22, 0x5c, 0x2c, 0x20]

/** Writes the piece for labels in their canonical bytes. */
export function writeLabelJson(writer: ByteWriter, labels: ByteReader): void {
  const app = labels.bytes(labels.uvarint())
  writer.latin1(tagsKey)
  for (let i = 0, count = labels.uvarint(); i < count; i++) {
    if (i > 0) writer.byte(comma)
    writeString(writer, labels.bytes(labels.uvarint()))
  }
  writer.latin1(appKey)
  writeString(writer, app)
  writer.latin1(payloadKey)
}

function writeString(writer: ByteWriter, text: Buffer): void {
  if (needsEscapes(text)) {
    writer.bytes(Buffer.from(JSON.stringify(text.toString('utf8'))))
    return
  }
  writer.byte(quote).bytes(text).byte(quote)
}

function needsEscapes(text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number
    if (byte < space || byte === quote || byte === backslash) return true
  }
  return false
}

export function parseLabelJson(bytes: Buffer, start: number, end: number): Labels {
  return JSON.parse(`{${bytes.toString('utf8', start + 1, end - payloadKey.length)}}`) as Labels
}

interface Wanted {
  readonly tags: readonly Buffer[]
  readonly appId: Buffer | undefined
}

/** From so many tags on, of which one is enough, looking them up is faster than comparing. */
const manyTags = 16

/** Says whether labels fulfil one of several branches. */
export class LabelMatcher {
  readonly #anyOf: readonly Wanted[]
  /** Tags of which each alone is enough, as they stand in JSON, when there are many. */
  readonly #tags: ReadonlySet<string>

  constructor(all: readonly Branch[]) {
    const json = (text: string): Buffer => Buffer.from(JSON.stringify(text))
    const lone = all.filter(({ tags, appId }) => tags.length === 1 && appId === undefined)
    const isMany = lone.length >= manyTags
    this.#tags = new Set(isMany ? lone.map(({ tags }) => json(tags[0] as string).toString('latin1')) : [])
    const isLone = new Set(lone)
    const branches = isMany ? all.filter((branch) => !isLone.has(branch)) : all
    this.#anyOf = branches.map(({ tags, appId }) => ({
      // In the order of their bytes, as they stand in an event: then one walk over them is enough.
      tags: [...new Set(tags)]
        .map((tag) => Buffer.from(tag))
        .sort(Buffer.compare)
        .map((tag) => json(tag.toString('utf8'))),
      appId: appId === undefined ? undefined : json(appId),
    }))
  }

  matches(bytes: Buffer, start: number, end: number): boolean {
    if (this.#tags.size > 0 && this.#hasOne(bytes, start + tagsKey.length)) return true
    return this.#anyOf.some((wanted) => fulfils(bytes, start + tagsKey.length, end - payloadKey.length, wanted))
  }

  #hasOne(bytes: Buffer, start: number): boolean {
    let at = start
    while (bytes[at] === quote) {
      const after = endOfString(bytes, at)
      if (this.#tags.has(bytes.toString('latin1', at, after))) return true
      at = bytes[after] === comma ? after + 1 : after
    }
    return false
  }
}

/** Walks over the tags once; `at` stands at the first of them, or at the bracket behind none. */
function fulfils(bytes: Buffer, start: number, end: number, { tags, appId }: Wanted): boolean {
  let at = start
  let found = 0
  while (bytes[at] === quote) {
    const after = endOfString(bytes, at)
    const tag = tags[found]
    if (tag !== undefined && equals(bytes, at, after, tag)) found++
    at = bytes[after] === comma ? after + 1 : after
  }
  if (found < tags.length) return false
  return appId === undefined || equals(bytes, at + appKey.length, end, appId)
}

/** Where the string ends that starts at a quote: behind its closing quote. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  while (bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at + 1
}

function equals(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  if (end - start !== wanted.length) return false
  // From the end: tags of an app begin alike.
  for (let i = wanted.length - 1; i >= 0; i--) if (bytes[start + i] !== wanted[i]) return false
  return true
}
