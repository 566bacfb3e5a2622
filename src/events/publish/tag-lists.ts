import { format } from '../../base/format.ts'
import { nodeAppId } from '../../identity/index.ts'
import { closeList, type JsonScanner, openList } from '../../json/json-scanner.ts'
import { ByteReader, ByteWriter, decodeLabels, encodeLabels } from '../../protocol/index.ts'
import { defaultStream, type RoutingTable } from '../routing-table.ts'

/** Where the text of each tag of a list starts and ends: for all readers, since none of them stops within a list. */
const starts = new Int32Array(format.tagsPerEvent)
const ends = new Int32Array(format.tagsPerEvent)

/** The app whose events were read last, most of which come again, and how labels of its events begin. */
let lastApp: { readonly id: string; readonly bytes: Buffer } | undefined

function appIdBytes(id: string): Buffer {
  if (lastApp?.id !== id) lastApp = { id, bytes: new ByteWriter(64).text(id).copy() }
  return lastApp.bytes
}

/**
 * Reads lists of tags and writes the labels that they mean. Tags are a set, normalised and in the order of their bytes;
 * those in plain ASCII, which most are, are sorted and copied where they stand, without a string being made of them.
 */
export class TagLists {
  readonly #json: JsonScanner
  readonly #target: ByteWriter
  readonly #appId: string
  /** As labels begin. */
  readonly appIdBytes: Buffer
  readonly #routes: RoutingTable
  readonly #isRouted: boolean
  readonly #starts = starts
  readonly #ends = ends
  /** Whether two tags of a list are the same. */
  #hasDoubles = false

  constructor(json: JsonScanner, target: ByteWriter, appId: string, routes: RoutingTable) {
    this.#json = json
    this.#target = target
    this.#appId = appId
    this.appIdBytes = appIdBytes(appId)
    this.#routes = routes
    this.#isRouted = appId === nodeAppId || routes.splits
  }

  /** Passes over a list and writes its labels; answers with the stream that such an event goes to. */
  next(): number {
    const json = this.#json
    json.open(openList, 'a sequence')
    let count = 0
    let arePlain = true
    this.#hasDoubles = false
    for (let more = json.begins(closeList); more; more = json.continues(closeList)) {
      if (count === format.tagsPerEvent) throw json.error(`more than ${format.tagsPerEvent} tags of one event`)
      json.next()
      const start = json.at + 1
      if (!json.string()) arePlain = false
      this.#place(count++, start, json.at - 1)
    }
    return arePlain ? this.#plain(count) : this.#any(count)
  }

  /** The stream that an event goes to whose labels were written from there to there. */
  streamOf(labels: number, labelsEnd: number): number {
    if (!this.#isRouted) return defaultStream.number
    const { written } = this.#target
    const tags = (): readonly string[] => decodeLabels(new ByteReader(written, labels, labelsEnd)).tags
    return this.#routes.streamForLabels(written.toString('latin1', labels, labelsEnd), this.#appId, tags)
  }

  /** Tags in plain ASCII. */
  #plain(count: number): number {
    const { length } = this.#target
    this.#copySet(count)
    return this.streamOf(length, this.#target.length)
  }

  /** Tags of any characters, or with escapes. */
  #any(count: number): number {
    const tags = Array.from({ length: count }, (_, i) => this.#tag(i))
    this.#target.bytes(encodeLabels(this.#appId, tags))
    return this.#routes.streamFor(this.#appId, tags)
  }

  /** Puts a tag in its place among those before it. */
  #place(count: number, start: number, end: number): void {
    if (end === start) throw this.#json.error('invalid value: expected non-empty string', start)
    const starts = this.#starts
    const ends = this.#ends
    let i = count
    for (; i > 0; i--) {
      const order = this.#compare(starts[i - 1] as number, ends[i - 1] as number, start, end)
      if (order === 0) this.#hasDoubles = true
      if (order <= 0) break
      starts[i] = starts[i - 1] as number
      ends[i] = ends[i - 1] as number
    }
    starts[i] = start
    ends[i] = end
  }

  /** Writes labels of tags that stand in the text as they are, each of them once. */
  #copySet(count: number): void {
    const unique = this.#hasDoubles ? this.#withoutDoubles(count) : count
    const starts = this.#starts
    const ends = this.#ends
    const target = this.#target.bytes(this.appIdBytes).uvarint(unique)
    const { words } = this.#json
    for (let i = 0; i < unique; i++) {
      const start = starts[i] as number
      const end = ends[i] as number
      if (end - start > format.tagBytes) throw this.#tooLong(start)
      target.uvarint(end - start).shortBytes(words, start, end)
    }
  }

  /** Leaves each tag once; answers how many that are. */
  #withoutDoubles(count: number): number {
    const starts = this.#starts
    const ends = this.#ends
    let unique = 0
    for (let i = 0; i < count; i++) {
      const start = starts[i] as number
      const end = ends[i] as number
      if (unique > 0 && this.#compare(starts[unique - 1] as number, ends[unique - 1] as number, start, end) === 0)
        continue
      starts[unique] = start
      ends[unique++] = end
    }
    return unique
  }

  #compare(start: number, end: number, otherStart: number, otherEnd: number): number {
    const { bytes, words } = this.#json
    const length = Math.min(end - start, otherEnd - otherStart)
    let i = 0
    while (i + 4 <= length && words.getInt32(start + i) === words.getInt32(otherStart + i)) i += 4
    for (; i < length; i++) {
      const difference = (bytes[start + i] as number) - (bytes[otherStart + i] as number)
      if (difference !== 0) return difference
    }
    return end - start - (otherEnd - otherStart)
  }

  /** A tag as text, normalised. */
  #tag(index: number): string {
    const json = this.#json
    const start = this.#starts[index] as number
    const text = json.text(start, this.#ends[index] as number)
    // Only an escape can stand for half of a character.
    if (!text.isWellFormed()) throw json.error('lone surrogate in hex escape', start)
    const tag = text.normalize('NFC')
    if (Buffer.byteLength(tag) > format.tagBytes) throw this.#tooLong(start)
    return tag
  }

  #tooLong(start: number): Error {
    return this.#json.error(`a tag of more than ${format.tagBytes} bytes`, start)
  }
}
