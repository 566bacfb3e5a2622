import { failure } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import { type EventSkimmer, fastPaths } from '../../fast-paths/index.ts'
import { closeList, closeObject, JsonScanner, openList, openObject } from '../../json/json-scanner.ts'
import type { AppendRequest } from '../../store/index.ts'
import type { RoutingTable } from '../routing-table.ts'
import { Batch } from './batch.ts'
import { TagLists } from './tag-lists.ts'

/** Body size from which the fast path is used: a single event is scanned as fast without it. */
const skimThresholdBytes = 1024

interface ScannerOptions {
  /** A batch to reuse; it is cleared. */
  readonly batch?: Batch
  /** The fast path for runs of simple events; `none` scans each event separately. */
  readonly skimmer?: EventSkimmer | 'none'
}

const requestNames = [Buffer.from('data')]
const eventNames = [Buffer.from('tags'), Buffer.from('payload')]
const [tagsName, payloadName] = [0, 1]

/**
 * Scans the body of a publish request: `{"data":[{"tags":[…],"payload":…},…]}`. A single pass validates the JSON and
 * copies tags and payloads without parsing them. Unknown members are skipped; duplicates of known ones are errors.
 */
export class PublishScanner {
  readonly #batch: Batch
  readonly #json: JsonScanner
  readonly #tagLists: TagLists
  readonly #skimmer: EventSkimmer | 'none'
  /** The ID of this scanner for the skimmer. */
  readonly #reader: number
  /** Events read so far. */
  #count = 0

  constructor(body: Buffer, appId: string, routes: RoutingTable, options: ScannerOptions = {}) {
    const { batch, skimmer = skimmerFor(body) } = options
    this.#json = new JsonScanner(body)
    this.#batch = batch?.clear() ?? new Batch(body.length + 64)
    this.#tagLists = new TagLists(this.#json, this.#batch.source, appId, routes)
    this.#skimmer = skimmer
    this.#reader = skimmer === 'none' ? 0 : skimmer.newReader()
  }

  /** Scans the whole body and returns the request. Yields after every `sliceBytes` bytes. */
  *whole(sliceBytes: number): Generator<void, AppendRequest> {
    const json = this.#json
    let end = json.at + sliceBytes
    for (const _ of this.#events(() => end - json.at)) {
      end = json.at + sliceBytes
      yield
    }
    return this.#batch.request()
  }

  /** Scans event by event. Yields whenever `left` returns 0 or less. */
  *#events(left: () => number): Generator<void, void> {
    const json = this.#json
    json.open(openObject, 'struct PublishRequest')
    let hasData = false
    for (let more = json.begins(closeObject); more; more = json.continues(closeObject)) {
      if (json.key(requestNames) < 0) json.value()
      else if (hasData) throw json.error('duplicate field `data`')
      else {
        hasData = true
        yield* this.#list(left)
      }
    }
    if (!hasData) throw json.error('missing field `data`', json.at - 1)
    json.finish()
  }

  *#list(left: () => number): Generator<void, void> {
    const json = this.#json
    json.open(openList, 'a sequence')
    for (let isEvent = json.begins(closeList); isEvent; isEvent = json.continues(closeList)) {
      if (this.#count >= limits.eventsPerPublish)
        throw json.error(`more than ${limits.eventsPerPublish} events in one call`)
      if (!this.#skim(left())) this.#event()
      if (left() <= 0) yield
    }
  }

  /** Fast path: scans a run of simple events of up to `bytes` bytes. Returns whether there was one. */
  #skim(bytes: number): boolean {
    const skimmer = this.#skimmer
    if (skimmer === 'none') return false
    const json = this.#json
    const { appIdBytes } = this.#tagLists
    const maxEvents = limits.eventsPerPublish - this.#count
    const count = skimmer.read(this.#reader, json.bytes, json.at, appIdBytes, bytes, maxEvents)
    if (count === 0) return false
    const { source } = this.#batch
    const first = source.length
    source.bytes(skimmer.output)
    for (let i = 0; i < count; i++) {
      const hasLabels = skimmer.hasLabels(i)
      const labels = hasLabels ? first + skimmer.labels(i) : source.length
      if (!hasLabels) json.at = skimmer.tagList(i)
      const stream = hasLabels ? this.#tagLists.streamOf(labels, first + skimmer.labelsEnd(i)) : this.#tagLists.next()
      const labelsEnd = hasLabels ? first + skimmer.labelsEnd(i) : source.length
      this.#batch.add(stream, labels, labelsEnd, first + skimmer.payload(i), first + skimmer.payloadEnd(i))
    }
    json.at = skimmer.end
    this.#count += count
    return true
  }

  #event(): void {
    this.#count++
    const json = this.#json
    const batch = this.#batch
    const { source } = batch
    json.open(openObject, 'struct PublishEvent')
    let [labels, labelsEnd, stream, payload, payloadEnd] = [-1, -1, 0, -1, -1]
    for (let more = json.begins(closeObject); more; more = json.continues(closeObject)) {
      const name = json.key(eventNames)
      if (name === tagsName) {
        if (labels >= 0) throw json.error('duplicate field `tags`')
        labels = source.length
        stream = this.#tagLists.next()
        labelsEnd = source.length
      } else if (name === payloadName) {
        if (payload >= 0) throw json.error('duplicate field `payload`')
        payload = source.length
        payloadEnd = this.#payload()
      } else json.value()
    }
    if (labels < 0) throw json.error('missing field `tags`', json.at - 1)
    if (payload < 0) throw json.error('missing field `payload`', json.at - 1)
    batch.add(stream, labels, labelsEnd, payload, payloadEnd)
  }

  /** Copies a payload into the batch. Returns its end there. */
  #payload(): number {
    const json = this.#json
    const { source } = this.#batch
    const start = source.length
    json.value(source)
    const size = source.length - start
    if (size > format.payloadBytes) throw failure('ERR_PAYLOAD_TOO_LARGE', { size, limit: format.payloadBytes })
    return source.length
  }
}

function skimmerFor(body: Buffer): EventSkimmer | 'none' {
  return body.length < skimThresholdBytes ? 'none' : fastPaths.eventSkimmer()
}
