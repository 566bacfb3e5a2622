import type { ByteReader } from '../../../protocol/index.ts'
import type { Branch } from '../../port/index.ts'
import { appKey } from '../read/label-json.ts'

export const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]

/** A text in both encodings: canonical bytes and JSON. */
interface WantedText {
  readonly bytes: Buffer
  readonly json: Buffer
}

/** Texts that are the same in ASCII, UTF-8 and JSON. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/** The canonical bytes of a label, as a latin1 string. */
export function bytesKey(text: string): string {
  return plain.test(text) ? text : Buffer.from(text).toString('latin1')
}

/** The JSON of a label, as a latin1 string. */
export function jsonKey(text: string): string {
  return plain.test(text) ? `"${text}"` : Buffer.from(JSON.stringify(text)).toString('latin1')
}

/** The labels of branches. Equal texts are encoded once. */
export function wantedLabels(branches: readonly Branch[]): WantedLabels[] {
  const known = new Map<string, WantedText>()
  const wantedText = (text: string): WantedText => {
    const found = known.get(text) ?? { bytes: Buffer.from(text), json: Buffer.from(JSON.stringify(text)) }
    known.set(text, found)
    return found
  }
  return branches.map(({ tags, appId }) => ({
    tags: [...new Set(tags)].map(wantedText).sort((a, b) => Buffer.compare(a.bytes, b.bytes)),
    appId: appId === undefined ? undefined : wantedText(appId),
  }))
}

/** The labels of a branch. */
export interface WantedLabels {
  /** Sorted by their bytes like the tags of an event, so that one pass compares both. */
  readonly tags: readonly WantedText[]
  readonly appId: WantedText | undefined
}

/** Compares in one pass; `start` is the position of the first tag, or of the closing bracket. */
export function matchesJson(bytes: Buffer, start: number, end: number, { tags, appId }: WantedLabels): boolean {
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

export function matchesBytes(labels: ByteReader, { tags, appId }: WantedLabels): boolean {
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

/** The position after the closing quote of a string that starts at a quote. */
export function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  while (bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at + 1
}

function equals(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  if (end - start !== wanted.length) return false
  // From the end: tags of an app have common prefixes.
  for (let i = wanted.length - 1; i >= 0; i--) if (bytes[start + i] !== wanted[i]) return false
  return true
}
