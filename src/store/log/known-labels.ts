import { limits } from '../../limits.ts'
import { ByteReader, ByteWriter } from '../../protocol/index.ts'
import { writeLabelJson } from './label-json.ts'
import { labelHash } from './tag-index.ts'

interface Entry {
  readonly bytes: Buffer
  readonly json: Buffer
  readonly hash: number
}

/** Half of the places stay free, so that looking for one comes to an end soon. */
const places = 2 ** Math.ceil(Math.log2(2 * limits.knownLabels))

/** The JSON of labels that were seen: many events of an app have the same. It is found by their bytes, without making a string. */
export class KnownLabels {
  readonly #entries: (Entry | undefined)[] = new Array(places)
  readonly #json = new ByteWriter(1024)
  #size = 0

  /** The JSON of the labels whose canonical bytes stand there. */
  jsonOf(bytes: Buffer, start: number, end: number): Buffer {
    const hash = labelHash(bytes, start, end, 0)
    let place = hash % places
    for (let entry = this.#entries[place]; entry !== undefined; entry = this.#entries[place]) {
      if (entry.hash === hash && bytes.compare(entry.bytes, 0, entry.bytes.length, start, end) === 0) return entry.json
      place = (place + 1) % places
    }
    return this.#add(place, hash, bytes, start, end)
  }

  #add(place: number, hash: number, source: Buffer, start: number, end: number): Buffer {
    if (this.#size === limits.knownLabels) {
      this.#entries.fill(undefined)
      this.#size = 0
    }
    writeLabelJson(this.#json.clear(), new ByteReader(source, start, end))
    const bytes = Buffer.from(source.subarray(start, end))
    const json = this.#json.copy()
    this.#entries[place] = { bytes, json, hash }
    this.#size++
    return json
  }
}
