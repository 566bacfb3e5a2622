import { limits } from '../../limits.ts'
import { ByteReader, ByteWriter } from '../../protocol/index.ts'
import { writeLabelJson } from './label-json.ts'
import { labelHashes } from './tag-index.ts'

/** What is made of the labels of events: their JSON, and the hashes by which the index knows them. */
export interface KnownLabel {
  readonly json: Buffer
  readonly hashes: readonly number[]
}

/** Labels that were seen: many events of an app have the same. */
export class KnownLabels {
  readonly #known = new Map<string, KnownLabel>()
  readonly #json = new ByteWriter(1024)

  /** The label whose canonical bytes stand there. */
  of(bytes: Buffer, start: number, end: number): KnownLabel {
    const key = bytes.toString('latin1', start, end)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    if (this.#known.size >= limits.knownLabels) this.#known.clear()
    writeLabelJson(this.#json.clear(), new ByteReader(bytes, start, end))
    const label = { json: this.#json.copy(), hashes: labelHashes(bytes, start, end) }
    this.#known.set(key, label)
    return label
  }
}
