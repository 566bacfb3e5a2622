import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { DamagedData, detectDamage } from '../sqlite/index.ts'

/** The place of an event in the order of all events. */
export interface Place {
  readonly lamport: number
  readonly stream: string
}

/**
 * What events say of things by their keys: of several that speak of one, the last in the order of all events is believed,
 * in whichever order they come. Nothing as a value says that there is none any more.
 */
export class Registers {
  readonly #get: StatementSync
  readonly #every: StatementSync
  readonly #inAnyCase: StatementSync
  readonly #all: StatementSync
  readonly #newest: StatementSync
  readonly #set: StatementSync
  readonly #followed: StatementSync
  readonly #follow: StatementSync

  constructor(database: DatabaseSync) {
    this.#get = database.prepare(`SELECT ${columns} FROM register WHERE kind = ? AND key = ?`)
    this.#every = database.prepare(`SELECT ${columns} FROM register`)
    this.#inAnyCase = database.prepare(
      'SELECT key FROM register WHERE kind = ? AND key = ? COLLATE NOCASE AND value IS NOT NULL ORDER BY key DESC',
    )
    this.#all = database.prepare(`SELECT ${columns} FROM register WHERE kind = ? AND value IS NOT NULL ORDER BY key`)
    this.#newest = database.prepare(
      `SELECT ${columns} FROM register WHERE kind = ? AND value IS NOT NULL ORDER BY lamport DESC, key`,
    )
    this.#set = database.prepare('INSERT OR REPLACE INTO register VALUES (?, ?, ?, ?, ?, ?)')
    this.#followed = database.prepare('SELECT stream, offset, crc FROM followed')
    this.#follow = database.prepare('INSERT OR REPLACE INTO followed VALUES (?, ?, ?)')
  }

  /** Throws unless every row is as it was written. */
  check(): void {
    detectDamage(() => {
      for (const row of this.#every.iterate()) soundRegister(row)
      this.followed()
    })
  }

  get(kind: string, key: string): string | undefined {
    return this.#register(kind, key)?.value ?? undefined
  }

  /** A key with a value that is the same but for capital letters; before others one that has none. */
  keyInAnyCase(kind: string, key: string): string | undefined {
    const found = this.#inAnyCase.get(kind, key)?.['key']
    return typeof found === 'string' ? found : undefined
  }

  /** Keys and values, by key. */
  all(kind: string): [string, string][] {
    return this.#all.all(kind).map((row) => {
      const { key, value } = soundRegister(row)
      return [key, value ?? '']
    })
  }

  /** Keys with a value, the one that was set last first. */
  *newest(kind: string): Generator<string> {
    for (const row of this.#newest.iterate(kind)) yield soundRegister(row).key
  }

  /** Believes an event, unless a later one is known; answers whether it does. */
  set(kind: string, key: string, place: Place, value: string | undefined): boolean {
    const known = this.#register(kind, key)
    if (known !== undefined && comparePlaces(place, known) < 0) return false
    const row = { kind, key, ...place, value: value ?? null }
    this.#set.run(kind, key, row.lamport, row.stream, row.value, registerCrc(row))
    return true
  }

  /** Up to which offsets of which streams events were followed. */
  followed(): Record<string, number> {
    const rows = this.#followed.all() as unknown as { stream: string; offset: number; crc: number | null }[]
    for (const { stream, offset, crc } of rows)
      if (crc !== null && crc !== followedCrc(stream, offset))
        throw new DamagedData(`up to where the stream '${stream}' was followed is damaged`)
    return Object.fromEntries(rows.map(({ stream, offset }) => [stream, offset]))
  }

  follow(offsets: Readonly<Record<string, number>>): void {
    const known = this.followed()
    for (const [stream, offset] of Object.entries(offsets)) {
      const furthest = Math.max(known[stream] ?? -1, offset)
      this.#follow.run(stream, furthest, followedCrc(stream, furthest))
    }
  }

  #register(kind: string, key: string): Register | undefined {
    const row = this.#get.get(kind, key)
    return row && soundRegister(row)
  }
}

const columns = 'kind, key, lamport, stream, value, crc'

/** What an event has said of a thing. */
interface Register extends Place {
  readonly kind: string
  readonly key: string
  readonly value: string | null
}

function registerCrc({ kind, key, lamport, stream, value }: Register): number {
  return crc32(JSON.stringify([kind, key, lamport, stream, value]))
}

function followedCrc(stream: string, offset: number): number {
  return crc32(JSON.stringify([stream, offset]))
}

/** Rows of an earlier version have no checksum. */
function soundRegister(row: object): Register {
  const register = row as Register & { readonly crc: number | null }
  const { kind, key, crc } = register
  if (crc !== null && crc !== registerCrc(register)) throw new DamagedData(`the ${kind} '${key}' is damaged`)
  return register
}

/** By lamport timestamp, then by node, whose ID sorts like its bytes, then by the number of the stream. */
function comparePlaces(a: Place, b: Place): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport
  const [aNode = '', aNumber = ''] = a.stream.split('-')
  const [bNode = '', bNumber = ''] = b.stream.split('-')
  if (aNode !== bNode) return aNode < bNode ? -1 : 1
  return Number(BigInt(aNumber) - BigInt(bNumber))
}
