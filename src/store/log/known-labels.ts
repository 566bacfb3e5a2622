import { limits } from '../../limits.ts'
import { ByteReader, ByteWriter } from '../../protocol/index.ts'
import { writeLabelJson } from './label-json.ts'
import { labelHash, labelHashes } from './tag-index.ts'

/** What is made of the labels of events: their JSON, and the hashes by which the index knows them. */
export interface KnownLabel {
  readonly json: Buffer
  readonly hashes: readonly number[]
}

interface Entry extends KnownLabel {
  readonly bytes: Buffer
  readonly hash: number
}

/** Half of the places stay free, so that looking for one comes to an end soon. */
const places = 2 ** Math.ceil(Math.log2(2 * limits.knownLabels))

/** Labels that were seen: many events of an app have the same. They are found by their bytes, without making a string. */
export class KnownLabels {
  readonly #entries: (Entry | undefined)[] = new Array(places)
  readonly #json = new ByteWriter(1024)
  #size = 0

  /** The label whose canonical bytes stand there. */
  of(bytes: Buffer, start: number, end: number): KnownLabel {
    const hash = labelHash(bytes, start, end, 0)
    let place = hash % places
    for (let entry = this.#entries[place]; entry !== undefined; entry = this.#entries[place]) {
      if (entry.hash === hash && bytes.compare(entry.bytes, 0, entry.bytes.length, start, end) === 0) return entry
      place = (place + 1) % places
    }
    return this.#add(place, hash, bytes, start, end)
  }

  #add(place: number, hash: number, source: Buffer, start: number, end: number): KnownLabel {
    if (this.#size === limits.knownLabels) {
      this.#entries.fill(undefined)
      this.#size = 0
    }
    writeLabelJson(this.#json.clear(), new ByteReader(source, start, end))
    const bytes = Buffer.from(source.subarray(start, end))
    const entry = { json: this.#json.copy(), hashes: labelHashes(source, start, end), bytes, hash }
    this.#entries[place] = entry
    this.#size++
    return entry
  }
}
