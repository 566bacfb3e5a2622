import { format } from '../../base/format.ts'
import { nodeAppId } from '../../identity/index.ts'
import { closeList, type JsonScanner, openList } from '../../json/json-scanner.ts'
import { ByteWriter, encodeLabels } from '../../protocol/index.ts'
import { defaultStream, type RoutingTable } from '../routing-table.ts'

/** Start and end of each tag of the current list. Shared by all scanners, since none yields within a list. */
const starts = new Int32Array(format.tagsPerEvent)
const ends = new Int32Array(format.tagsPerEvent)

/** Cache of one entry: the encoded app ID of the last request. */
let lastApp: { readonly id: string; readonly bytes: Buffer } | undefined

function appIdBytes(id: string): Buffer {
  if (lastApp?.id !== id) lastApp = { id, bytes: new ByteWriter(64).text(id).copy() }
  return lastApp.bytes
}

/**
 * Scans lists of tags and writes labels. Tags are a set, normalised and in byte order. Plain ASCII tags, the common
 * case, are sorted and copied as bytes, without creating strings.
 */
export class TagLists {
  readonly #json: JsonScanner
  readonly #target: ByteWriter
  readonly #appId: string
  /** The encoded app ID, with which labels begin. */
  readonly appIdBytes: Buffer
  readonly #routes: RoutingTable
  readonly #isRouted: boolean
  readonly #starts = starts
  readonly #ends = ends
  /** Whether the current list has duplicate tags. */
  #hasDuplicates = false

  constructor(json: JsonScanner, target: ByteWriter, appId: string, routes: RoutingTable) {
    this.#json = json
    this.#target = target
    this.#appId = appId
    this.appIdBytes = appIdBytes(appId)
    this.#routes = routes
    this.#isRouted = appId === nodeAppId || routes.dependsOnTags
  }

  /** Scans a list and writes its labels. Returns the stream that the event is routed to. */
  next(): number {
    const json = this.#json
    json.open(openList, 'a sequence')
    let count = 0
    let arePlain = true
    this.#hasDuplicates = false
    for (let more = json.begins(closeList); more; more = json.continues(closeList)) {
      if (count === format.tagsPerEvent) throw json.error(`more than ${format.tagsPerEvent} tags of one event`)
      json.next()
      const start = json.at + 1
      if (!json.string()) arePlain = false
      this.#insertSorted(count++, start, json.at - 1)
    }
    return arePlain ? this.#plainLabels(count) : this.#decodedLabels(count)
  }

  /** The stream for the labels in a range of the target. */
  streamOf(labels: number, labelsEnd: number): number {
    if (!this.#isRouted) return defaultStream.number
    return this.#routes.streamForLabels(this.#appId, this.#target.written.subarray(labels, labelsEnd))
  }

  /** Labels of plain ASCII tags. */
  #plainLabels(count: number): number {
    const { length } = this.#target
    this.#copySet(count)
    return this.streamOf(length, this.#target.length)
  }

  /** Labels of tags with escapes or non-ASCII characters. */
  #decodedLabels(count: number): number {
    const tags = Array.from({ length: count }, (_, i) => this.#tag(i))
    this.#target.bytes(encodeLabels(this.#appId, tags))
    return this.#routes.streamFor(this.#appId, tags)
  }

  /** Insertion sort: adds a tag to those before it. */
  #insertSorted(count: number, start: number, end: number): void {
    if (end === start) throw this.#json.error('invalid value: expected non-empty string', start)
    const starts = this.#starts
    const ends = this.#ends
    let i = count
    for (; i > 0; i--) {
      const order = this.#compare(starts[i - 1] as number, ends[i - 1] as number, start, end)
      if (order === 0) this.#hasDuplicates = true
      if (order <= 0) break
      starts[i] = starts[i - 1] as number
      ends[i] = ends[i - 1] as number
    }
    starts[i] = start
    ends[i] = end
  }

  /** Writes the labels of sorted plain tags, without duplicates. */
  #copySet(count: number): void {
    const unique = this.#hasDuplicates ? this.#removeDuplicates(count) : count
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

  /** Removes duplicates of the sorted tags. Returns the new count. */
  #removeDuplicates(count: number): number {
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

  /** A tag as normalised text. */
  #tag(index: number): string {
    const json = this.#json
    const start = this.#starts[index] as number
    const text = json.text(start, this.#ends[index] as number)
    // Only an escape can be a lone surrogate: the bytes are valid UTF-8.
    if (!text.isWellFormed()) throw json.error('lone surrogate in hex escape', start)
    const tag = text.normalize('NFC')
    if (Buffer.byteLength(tag) > format.tagBytes) throw this.#tooLong(start)
    return tag
  }

  #tooLong(start: number): Error {
    return this.#json.error(`a tag of more than ${format.tagBytes} bytes`, start)
  }
}
