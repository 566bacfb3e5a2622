import { format } from '../../base/format.ts'
import { nodeAppId } from '../../identity/index.ts'
import { closeList, type JsonScanner, openList } from '../../json/json-scanner.ts'
import { viewOf } from '../../json/plain-text.ts'
import { unescapeTo } from '../../json/unescape.ts'
import { ByteWriter } from '../../protocol/index.ts'
import type { RoutingTable } from '../routing-table.ts'
import { isVerbatim } from './normal-form.ts'
import { TagSet } from './tag-set.ts'

/** The tags of the current list. Shared by all scanners, since none yields within a list. */
const tags = new TagSet()

/** The normalised tags of the current list, if some of them are not verbatim in the text. */
const normalised = Buffer.allocUnsafeSlow(format.tagsPerEvent * format.tagBytes)
const normalisedView = viewOf(normalised)
const normalisedTags = new TagSet()

/** Cache of one entry: the encoded app ID of the last request. */
let lastApp: { readonly id: string; readonly bytes: Buffer } | undefined

function appIdBytes(id: string): Buffer {
  if (lastApp?.id !== id) lastApp = { id, bytes: new ByteWriter(64).text(id).copy() }
  return lastApp.bytes
}

/**
 * Scans lists of tags and writes labels. Tags are a set, normalised and in byte order. Tags that are in this form in
 * the text, the common case in most alphabets, are sorted and copied as bytes, without creating strings.
 */
export class TagLists {
  readonly #json: JsonScanner
  readonly #target: ByteWriter
  readonly #appId: string
  /** The encoded app ID, with which labels begin. */
  readonly appIdBytes: Buffer
  readonly #routes: RoutingTable
  readonly #isRouted: boolean

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
    const { length } = this.#target
    this.#scan().writeTo(this.#target.bytes(this.appIdBytes))
    return this.streamOf(length, this.#target.length)
  }

  /** The stream for the labels in a range of the target. */
  streamOf(labels: number, labelsEnd: number): number {
    if (!this.#isRouted) return this.#routes.default
    return this.#routes.streamForLabels(this.#appId, this.#target.written.subarray(labels, labelsEnd))
  }

  /** Scans a list. Returns its normalised tags. */
  #scan(): TagSet {
    const json = this.#json
    const { bytes } = json
    json.open(openList, 'a sequence')
    let areVerbatim = true
    tags.clear(bytes, json.view)
    for (let more = json.begins(closeList); more; more = json.continues(closeList)) {
      if (tags.count === format.tagsPerEvent) throw json.error(`more than ${format.tagsPerEvent} tags of one event`)
      json.next()
      const start = json.at + 1
      const isPlain = json.string()
      const end = json.at - 1
      if (end === start) throw json.error('invalid value: expected non-empty string', start)
      if (!isPlain && !isVerbatim(bytes, start, end)) areVerbatim = false
      tags.add(start, end)
    }
    if (!areVerbatim) return this.#normalise()
    for (let i = 0; i < tags.count; i++)
      if (tags.end(i) - tags.start(i) > format.tagBytes) throw this.#tooLong(tags.start(i))
    return tags
  }

  /** Decodes and normalises tags, and sorts them again. */
  #normalise(): TagSet {
    normalisedTags.clear(normalised, normalisedView)
    let at = 0
    for (let i = 0; i < tags.count; i++) {
      const start = at
      at += this.#writeNormalised(tags.start(i), tags.end(i), at)
      normalisedTags.add(start, at)
    }
    return normalisedTags
  }

  /** Writes a tag to the normalised ones. Returns its length. */
  #writeNormalised(start: number, end: number, at: number): number {
    const { bytes } = this.#json
    // A text that is short with its escapes is short without them.
    const after = end - start > format.tagBytes ? -1 : unescapeTo(normalised, at, bytes, start, end)
    if (after >= 0 && isVerbatim(normalised, at, after)) return after - at
    return normalised.write(this.#text(start, end), at)
  }

  /** A tag as normalised text. */
  #text(start: number, end: number): string {
    const json = this.#json
    const text = json.text(start, end)
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
