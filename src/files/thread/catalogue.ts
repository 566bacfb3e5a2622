import type { Blocks, Registers } from '../../store/index.ts'
import type { PlacedFact } from '../facts.ts'
import { isBlockCid, parseCid } from '../unixfs/index.ts'

/** A query whose results an app wants to be kept. */
export interface StandingQuery {
  readonly app: string
  readonly query: string
  /** Milliseconds since the Unix epoch. */
  readonly until: number
}

const uploadOwner = 'upload'
const nameOwner = (name: string): string => `name ${name}`
const queryOwner = (app: string): string => `query ${app}`

/** What events say of files: names, uploads, queries; and the pins that follow from it. */
export class Catalogue {
  readonly #blocks: Blocks
  readonly #registers: Registers

  constructor(blocks: Blocks, registers: Registers) {
    this.#blocks = blocks
    this.#registers = registers
  }

  /** The identifier that a name means. */
  cidOf(name: string): string | undefined {
    return this.#registers.get('name', name)
  }

  /** The name that a host means: names of hosts do not know capital letters, names of files do. */
  nameOfHost(host: string): string | undefined {
    return this.#registers.keyInAnyCase('name', host)
  }

  /** Whether the website of a name is not for everybody. */
  isPrivate(name: string): boolean {
    return this.#registers.get('private name', name) !== undefined
  }

  /** Names with identifiers, by name. */
  get names(): [string, string][] {
    return this.#registers.all('name')
  }

  /** Identifiers of uploads that no name means, the newest first. */
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

  /** Takes over what an event says. What was heard before is no news. */
  apply({ fact, place }: PlacedFact): void {
    switch (fact.kind) {
      case 'name': {
        const before = this.cidOf(fact.name)
        if (!this.#registers.set('name', fact.name, place, fact.cid)) return
        this.#registers.set('private name', fact.name, place, fact.isPrivate === true ? '' : undefined)
        this.#move(nameOwner(fact.name), before, fact.cid)
        return
      }
      case 'upload': {
        const before = this.isUploaded(fact.cid)
        if (!this.#registers.set('upload', fact.cid, place, fact.isKept ? '' : undefined)) return
        this.#move(uploadOwner, before ? fact.cid : undefined, fact.isKept ? fact.cid : undefined)
        return
      }
      case 'query':
        this.#registers.set('query', fact.app, place, JSON.stringify({ query: fact.query, until: fact.until }))
    }
  }

  /** Holds what the query of an app has found, and nothing else for it. */
  keepResults(app: string, cids: readonly string[]): void {
    const owner = queryOwner(app)
    const wanted = new Map(cids.flatMap(blockCid))
    for (const held of this.#blocks.pinnedBy(owner)) {
      const key = Buffer.from(held).toString('hex')
      if (!wanted.delete(key)) this.#blocks.unpin(owner, held)
    }
    for (const bytes of wanted.values()) this.#blocks.pin(owner, bytes)
  }

  /** Holds what the query of an app has found besides. */
  keepMore(app: string, cids: readonly string[]): void {
    for (const [, bytes] of cids.flatMap(blockCid)) this.#blocks.pin(queryOwner(app), bytes)
  }

  #move(owner: string, before: string | undefined, after: string | undefined): void {
    const [[toKey, to] = []] = blockCid(after)
    const [[fromKey, from] = []] = blockCid(before)
    // One identifier can be written in several ways.
    if (fromKey === toKey) return
    // First the new one: what both have in common stays held.
    if (to !== undefined) this.#blocks.pin(owner, to)
    if (from !== undefined) this.#blocks.unpin(owner, from)
  }
}

/** The bytes of an identifier, with themselves as a key; nothing when there can be no such block. */
function blockCid(text: string | undefined): [string, Uint8Array][] {
  const cid = text === undefined ? undefined : parseCid(text)
  return cid === undefined || !isBlockCid(cid) ? [] : [[Buffer.from(cid.bytes).toString('hex'), cid.bytes]]
}
