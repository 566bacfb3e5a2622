import type { Blocks, PinReason, Registers } from '../../store/index.ts'
import type { KeyedFact } from '../facts.ts'
import { isBlockCid, parseCid } from '../unixfs/index.ts'

/** A query of an app whose results are pinned. */
export interface StandingQuery {
  readonly app: string
  readonly query: string
  /** When it expires, in milliseconds since the Unix epoch. */
  readonly until: number
}

const uploadOwner = 'upload'
const nameOwner = (name: string): string => `name ${name}`
const queryOwner = (app: string): string => `query ${app}`

/** The state derived from events about files: names, uploads, standing queries, and the pins that follow from them. */
export class Catalogue {
  readonly #blocks: Blocks
  readonly #registers: Registers

  constructor(blocks: Blocks, registers: Registers) {
    this.#blocks = blocks
    this.#registers = registers
  }

  /** The CID that a name is bound to. */
  cidOf(name: string): string | undefined {
    return this.#registers.get('name', name)
  }

  /** The name for a host. Host names are case-insensitive, names of files are not. */
  nameOfHost(host: string): string | undefined {
    return this.#registers.keyIgnoringCase('name', host)
  }

  /** Whether the website of a name requires a token. */
  isPrivate(name: string): boolean {
    return this.#registers.get('private name', name) !== undefined
  }

  /** All names with their CIDs, sorted by name. */
  get names(): [string, string][] {
    return this.#registers.all('name')
  }

  /** CIDs of uploads without a name, the newest first. */
  unnamedUploads(limit: number): string[] {
    const named = new Set(this.names.map(([, cid]) => String(parseCid(cid))))
    return this.#registers
      .newest('upload')
      .filter((cid) => !named.has(cid))
      .take(limit)
      .toArray()
  }

  isUploaded(cid: string): boolean {
    return this.#registers.get('upload', cid) !== undefined
  }

  get queries(): StandingQuery[] {
    return this.#registers
      .all('query')
      .map(([app, value]) => ({ app, ...(JSON.parse(value) as { query: string; until: number }) }))
  }

  /** Applies a fact. One that is not newer than the stored one has no effect. */
  apply({ fact, ...place }: KeyedFact): void {
    switch (fact.kind) {
      case 'name': {
        const before = this.cidOf(fact.name)
        if (!this.#registers.set('name', fact.name, place, fact.cid)) return
        this.#registers.set('private name', fact.name, place, fact.isPrivate === true ? '' : undefined)
        this.#move(nameOwner(fact.name), before, fact.cid, { kind: 'name', lamport: place.key.lamport })
        return
      }
      case 'upload': {
        const before = this.isUploaded(fact.cid)
        if (!this.#registers.set('upload', fact.cid, place, fact.isPinned ? '' : undefined)) return
        this.#move(uploadOwner, before ? fact.cid : undefined, fact.isPinned ? fact.cid : undefined, {
          kind: 'upload',
          lamport: place.key.lamport,
        })
        return
      }
      case 'query':
        this.#registers.set('query', fact.app, place, JSON.stringify({ query: fact.query, until: fact.until }))
    }
  }

  /** Replaces the pins of the standing query of an app by its results. */
  pinResults(app: string, cids: readonly string[]): void {
    const owner = queryOwner(app)
    const toPin = new Map(cids.flatMap(blockCid))
    for (const held of this.#blocks.pinnedBy(owner)) {
      const key = Buffer.from(held).toString('hex')
      if (!toPin.delete(key)) this.#blocks.unpin(owner, held)
    }
    for (const bytes of toPin.values()) this.#blocks.pin(owner, bytes)
  }

  /** Adds pins for further results of the standing query of an app. */
  pinMoreResults(app: string, cids: readonly string[]): void {
    for (const [, bytes] of cids.flatMap(blockCid)) this.#blocks.pin(queryOwner(app), bytes)
  }

  #move(owner: string, before: string | undefined, after: string | undefined, reason: PinReason): void {
    const [[toKey, to] = []] = blockCid(after)
    // Compared by bytes: a CID has several spellings.
    const [[fromKey, from] = []] = blockCid(before)
    // Pin first, so that blocks in both DAGs stay referenced; also the same CID, for the order of missing blocks.
    if (to !== undefined) this.#blocks.pin(owner, to, reason)
    if (from !== undefined && fromKey !== toKey) this.#blocks.unpin(owner, from)
  }
}

/** The bytes of a CID with a map key for them; empty if there cannot be such a block. */
function blockCid(text: string | undefined): [string, Uint8Array][] {
  const cid = text === undefined ? undefined : parseCid(text)
  return cid === undefined || !isBlockCid(cid) ? [] : [[Buffer.from(cid.bytes).toString('hex'), cid.bytes]]
}
