import { ByteReader } from '../../../protocol/index.ts'
import type { Branch } from '../../port/index.ts'
import { appKey, payloadKey, tagsKey } from '../read/label-json.ts'
import { BranchLookup } from './branch-lookup.ts'
import {
  bytesKey,
  comma,
  endOfString,
  jsonKey,
  matchesBytes,
  matchesJson,
  quote,
  type WantedLabels,
  wantedLabels,
} from './wanted-labels.ts'

/** Number of branches from which a hash lookup is faster than comparing labels with each branch. */
const manyBranches = 16

/** Matches labels against several branches. It works on bytes, to create few strings. */
export class LabelMatcher {
  readonly #branches: readonly Branch[]
  /** Few branches, which are compared one by one. */
  readonly #few: readonly WantedLabels[] | undefined
  /** Many branches, for labels in canonical bytes and in JSON; created lazily. */
  #forBytes: BranchLookup | undefined
  #forJson: BranchLookup | undefined

  constructor(branches: readonly Branch[]) {
    this.#branches = branches
    this.#few = branches.length < manyBranches ? wantedLabels(branches) : undefined
  }

  /** Matches labels in a line of JSON. */
  matchesJson(bytes: Buffer, start: number, end: number): boolean {
    const [from, to] = [start + tagsKey.length, end - payloadKey.length]
    const isMatch = (wanted: WantedLabels): boolean => matchesJson(bytes, from, to, wanted)
    if (this.#few !== undefined) return this.#few.some(isMatch)
    this.#forJson ??= new BranchLookup(this.#branches, jsonKey)
    let at = from
    while (bytes[at] === quote) {
      const after = endOfString(bytes, at)
      if (this.#forJson.hasTag(bytes.toString('latin1', at, after), isMatch)) return true
      at = bytes[after] === comma ? after + 1 : after
    }
    return this.#forJson.hasApp(() => bytes.toString('latin1', at + appKey.length, to))
  }

  /** Matches labels in their canonical encoding. */
  matchesBytes(bytes: Buffer, start: number, end: number): boolean {
    const isMatch = (wanted: WantedLabels): boolean => matchesBytes(new ByteReader(bytes, start, end), wanted)
    if (this.#few !== undefined) return this.#few.some(isMatch)
    this.#forBytes ??= new BranchLookup(this.#branches, bytesKey)
    const labels = new ByteReader(bytes, start, end)
    const app = labels.skip(labels.uvarint())
    const appEnd = labels.at
    if (this.#forBytes.hasApp(() => labels.buffer.toString('latin1', app, appEnd))) return true
    for (let left = labels.uvarint(); left > 0; left--) {
      const tag = labels.skip(labels.uvarint())
      if (this.#forBytes.hasTag(labels.buffer.toString('latin1', tag, labels.at), isMatch)) return true
    }
    return false
  }
}
