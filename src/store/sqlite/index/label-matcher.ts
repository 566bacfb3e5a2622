import { ByteReader } from '../../../protocol/index.ts'
import type { Branch } from '../../port/index.ts'
import { appKey, payloadKey, tagsKey } from '../read/label-json.ts'
import { BranchLookup } from './branch-lookup.ts'
import {
  bytesKey,
  comma,
  endOfString,
  fulfils,
  fulfilsJson,
  jsonKey,
  quote,
  type WantedLabels,
  wantedLabels,
} from './wanted-labels.ts'

/** From so many branches on, looking labels up is faster than comparing them with each branch. */
const manyBranches = 16

/** Says whether labels fulfil one of several branches. They are looked at as bytes, without making strings of all. */
export class LabelMatcher {
  readonly #branches: readonly Branch[]
  /** Few branches, which are looked at one by one. */
  readonly #few: readonly WantedLabels[] | undefined
  /** Many branches, for labels in canonical bytes and in JSON; made when such labels come. */
  #forBytes: BranchLookup | undefined
  #forJson: BranchLookup | undefined

  constructor(branches: readonly Branch[]) {
    this.#branches = branches
    this.#few = branches.length < manyBranches ? wantedLabels(branches) : undefined
  }

  /** Labels as they stand in a line of JSON. */
  matchesJson(bytes: Buffer, start: number, end: number): boolean {
    const [from, to] = [start + tagsKey.length, end - payloadKey.length]
    const fulfilled = (wanted: WantedLabels): boolean => fulfilsJson(bytes, from, to, wanted)
    if (this.#few !== undefined) return this.#few.some(fulfilled)
    this.#forJson ??= new BranchLookup(this.#branches, jsonKey)
    let at = from
    while (bytes[at] === quote) {
      const after = endOfString(bytes, at)
      if (this.#forJson.hasTag(bytes.toString('latin1', at, after), fulfilled)) return true
      at = bytes[after] === comma ? after + 1 : after
    }
    return this.#forJson.hasApp(() => bytes.toString('latin1', at + appKey.length, to))
  }

  /** Labels in their canonical bytes. */
  matchesBytes(bytes: Buffer, start: number, end: number): boolean {
    const fulfilled = (wanted: WantedLabels): boolean => fulfils(new ByteReader(bytes, start, end), wanted)
    if (this.#few !== undefined) return this.#few.some(fulfilled)
    this.#forBytes ??= new BranchLookup(this.#branches, bytesKey)
    const labels = new ByteReader(bytes, start, end)
    const app = labels.skip(labels.uvarint())
    const appEnd = labels.at
    if (this.#forBytes.hasApp(() => labels.buffer.toString('latin1', app, appEnd))) return true
    for (let left = labels.uvarint(); left > 0; left--) {
      const tag = labels.skip(labels.uvarint())
      if (this.#forBytes.hasTag(labels.buffer.toString('latin1', tag, labels.at), fulfilled)) return true
    }
    return false
  }
}
