import { ByteReader } from '../../protocol/index.ts'
import { appKey, payloadKey, tagsKey } from './label-json.ts'
import type { Branch } from './selection.ts'

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]

/** A text as it stands in canonical bytes, and in JSON. */
interface WantedText {
  readonly bytes: Buffer
  readonly json: Buffer
}

interface Wanted {
  /** In the order of their bytes, as they stand in an event: then one walk over them is enough. */
  readonly tags: readonly WantedText[]
  readonly appId: WantedText | undefined
}

/** From so many tags on, of which one is enough, looking them up is faster than comparing. */
const manyTags = 16
const none: ReadonlySet<string> = new Set()

/** Says whether labels fulfil one of several branches. They are looked at as bytes, without making strings. */
export class LabelMatcher {
  readonly #anyOf: readonly Wanted[]
  /** Tags of which each alone is enough, when there are many: as they stand in canonical bytes, and in JSON. */
  readonly #lone: ReadonlySet<string>
  readonly #loneJson: ReadonlySet<string>

  constructor(all: readonly Branch[]) {
    const lone = all.filter(({ tags, appId }) => tags.length === 1 && appId === undefined)
    const isMany = lone.length >= manyTags
    const loneTags = isMany ? lone.map(({ tags }) => wantedText(tags[0] as string)) : []
    this.#lone = isMany ? new Set(loneTags.map(({ bytes }) => bytes.toString('latin1'))) : none
    this.#loneJson = isMany ? new Set(loneTags.map(({ json }) => json.toString('latin1'))) : none
    const isLone = isMany ? new Set(lone) : undefined
    const branches = isLone === undefined ? all : all.filter((branch) => !isLone.has(branch))
    this.#anyOf = branches.map(({ tags, appId }) => ({
      tags: [...new Set(tags)].map(wantedText).sort((a, b) => Buffer.compare(a.bytes, b.bytes)),
      appId: appId === undefined ? undefined : wantedText(appId),
    }))
  }

  /** Labels as they stand in a line of JSON. */
  matchesJson(bytes: Buffer, start: number, end: number): boolean {
    if (this.#loneJson.size > 0 && this.#hasOneInJson(bytes, start + tagsKey.length)) return true
    return this.#anyOf.some((wanted) => fulfilsJson(bytes, start + tagsKey.length, end - payloadKey.length, wanted))
  }

  /** Labels in their canonical bytes. */
  matchesBytes(bytes: Buffer, start: number, end: number): boolean {
    if (this.#lone.size > 0 && this.#hasOne(new ByteReader(bytes, start, end))) return true
    return this.#anyOf.some((wanted) => fulfils(new ByteReader(bytes, start, end), wanted))
  }

  #hasOneInJson(bytes: Buffer, start: number): boolean {
    let at = start
    while (bytes[at] === quote) {
      const after = endOfString(bytes, at)
      if (this.#loneJson.has(bytes.toString('latin1', at, after))) return true
      at = bytes[after] === comma ? after + 1 : after
    }
    return false
  }

  #hasOne(labels: ByteReader): boolean {
    labels.skip(labels.uvarint())
    for (let left = labels.uvarint(); left > 0; left--) {
      const start = labels.skip(labels.uvarint())
      if (this.#lone.has(labels.buffer.toString('latin1', start, labels.at))) return true
    }
    return false
  }
}

function wantedText(text: string): WantedText {
  return { bytes: Buffer.from(text), json: Buffer.from(JSON.stringify(text)) }
}

/** Walks over the tags once; `start` is where the first of them stands, or the bracket behind none. */
function fulfilsJson(bytes: Buffer, start: number, end: number, { tags, appId }: Wanted): boolean {
  let at = start
  let found = 0
  while (bytes[at] === quote) {
    const tag = tags[found]
    if (tag === undefined && appId === undefined) return true
    const after = endOfString(bytes, at)
    if (tag !== undefined && equals(bytes, at, after, tag.json)) found++
    at = bytes[after] === comma ? after + 1 : after
  }
  if (found < tags.length) return false
  return appId === undefined || equals(bytes, at + appKey.length, end, appId.json)
}

function fulfils(labels: ByteReader, { tags, appId }: Wanted): boolean {
  const app = labels.skip(labels.uvarint())
  if (appId !== undefined && !equals(labels.buffer, app, labels.at, appId.bytes)) return false
  let found = 0
  for (let left = labels.uvarint(); left > 0; left--) {
    const tag = tags[found]
    if (tag === undefined) return true
    const start = labels.skip(labels.uvarint())
    if (equals(labels.buffer, start, labels.at, tag.bytes)) found++
  }
  return found === tags.length
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
