import { format } from '../base/format.ts'
import { appIdProblem } from '../identity/index.ts'
import { type ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
import { isText } from './text.ts'

/**
 * The labels of an event: the ID of the app that published it, and its tags. Their canonical encoding is part of the
 * frame's: the app ID, the number of tags, the tags in byte order.
 */
export interface Labels {
  readonly appId: string
  readonly tags: readonly string[]
}

/** The canonical encoding of labels: tags are normalised to NFC, deduplicated and sorted by their bytes. */
export function encodeLabels(appId: string, tags: readonly string[]): Buffer {
  const unique = [...new Set(tags.map((tag) => tag.normalize('NFC')))]
  const encoded = unique.map((tag) => Buffer.from(tag, 'utf8')).sort(Buffer.compare)
  return encodeLabelsExactly({ appId, tags: encoded.map((tag) => tag.toString('utf8')) })
}

/** Encodes labels whose tags are canonical already. */
export function encodeLabelsExactly({ appId, tags }: Labels): Buffer {
  const writer = new ByteWriter().text(appId).uvarint(tags.length)
  for (const tag of tags) writer.text(tag)
  return writer.copy()
}

export function decodeLabels(reader: ByteReader): Labels {
  const appId = reader.text(format.appIdBytes)
  const count = reader.uvarint()
  if (count > reader.remaining) throw new MalformedBytes('unexpected end of bytes')
  const tags = Array.from({ length: count }, () => reader.text(format.tagBytes))
  return { appId, tags }
}

/** Skips labels from another node. Checks their sizes only, see `checkLabels`. */
export function skipBoundedLabels(reader: ByteReader): void {
  const appLength = reader.uvarint()
  if (appLength === 0 || appLength > format.appIdBytes) throw new MalformedBytes('an app ID is too long or empty')
  reader.skip(appLength)
  const count = reader.uvarint()
  if (count > format.tagsPerEvent) throw new MalformedBytes('an event has too many tags')
  for (let i = 0; i < count; i++) {
    const length = reader.uvarint()
    if (length === 0 || length > format.tagBytes) throw new MalformedBytes('a tag is too long or empty')
    reader.skip(length)
  }
}

/** Checks labels from another node whose sizes are valid. Throws unless they are in canonical encoding. */
export function checkLabels(reader: ByteReader): void {
  // Latin1 maps every byte to a character, and those beyond ASCII are not allowed.
  const problem = appIdProblem(reader.bytes(reader.uvarint()).toString('latin1'))
  if (problem !== undefined) throw new MalformedBytes(`an invalid app ID: ${problem}`)
  const { view } = reader
  let before = -1
  let beforeEnd = -1
  for (let i = reader.uvarint(); i > 0; i--) {
    const start = checkText(reader, reader.uvarint())
    const end = reader.at
    if (before >= 0 && !isAfter(view, start, end, before, beforeEnd))
      throw new MalformedBytes('the tags of an event are not in order')
    before = start
    beforeEnd = end
  }
}

/** Skips labels that were validated before. */
export function skipLabels(reader: ByteReader): void {
  reader.skipText()
  for (let i = reader.uvarint(); i > 0; i--) reader.skipText()
}

function checkText(reader: ByteReader, length: number): number {
  const start = reader.skip(length)
  if (!isText(reader.buffer, reader.view, start, reader.at)) throw new MalformedBytes('a text is not UTF-8')
  return start
}

/** Whether a range of bytes sorts after another one. */
function isAfter(view: DataView, start: number, end: number, other: number, otherEnd: number): boolean {
  const common = Math.min(end - start, otherEnd - other)
  let i = 0
  for (; i + 4 <= common; i += 4) {
    const a = view.getUint32(start + i)
    const b = view.getUint32(other + i)
    if (a !== b) return a > b
  }
  for (; i < common; i++) {
    const a = view.getUint8(start + i)
    const b = view.getUint8(other + i)
    if (a !== b) return a > b
  }
  return end - start > otherEnd - other
}
