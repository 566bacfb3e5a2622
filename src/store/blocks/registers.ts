import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { compareFacts, type EventKey, type FactPlace } from '../../replication/index.ts'
import { asDamage, DamagedData } from '../sqlite/index.ts'

/**
 * Last-writer-wins registers: the fact that is last in the order of facts sets the value, regardless of the order of
 * arrival. A register without a value is a tombstone. A register that a copy has set has a second row, of the kind
 * '<kind> copy', with the event key of the copy.
 */
export class Registers {
  readonly #get: StatementSync
  readonly #every: StatementSync
  readonly #ignoringCase: StatementSync
  readonly #all: StatementSync
  readonly #newest: StatementSync
  readonly #set: StatementSync
  readonly #delete: StatementSync
  readonly #followed: StatementSync
  readonly #follow: StatementSync

  constructor(database: DatabaseSync) {
    this.#get = database.prepare(`SELECT ${columns} FROM register WHERE kind = ? AND key = ?`)
    this.#every = database.prepare(`SELECT ${columns} FROM register`)
    this.#ignoringCase = database.prepare(
      'SELECT key FROM register WHERE kind = ? AND key = ? COLLATE NOCASE AND value IS NOT NULL ORDER BY key DESC',
    )
    this.#all = database.prepare(`SELECT ${columns} FROM register WHERE kind = ? AND value IS NOT NULL ORDER BY key`)
    this.#newest = database.prepare(
      `SELECT ${columns} FROM register WHERE kind = ? AND value IS NOT NULL ORDER BY lamport DESC, key`,
    )
    this.#set = database.prepare('INSERT OR REPLACE INTO register VALUES (?, ?, ?, ?, ?, ?)')
    this.#delete = database.prepare('DELETE FROM register WHERE kind = ? AND key = ?')
    this.#followed = database.prepare('SELECT stream, offset, crc FROM followed')
    this.#follow = database.prepare('INSERT OR REPLACE INTO followed VALUES (?, ?, ?)')
  }

  /** Verifies the checksums of all rows. */
  check(): void {
    asDamage(() => {
      for (const row of this.#every.iterate()) checkedRegister(row)
      this.followed()
    })
  }

  get(kind: string, key: string): string | undefined {
    return this.#register(kind, key)?.value ?? undefined
  }

  /** A key with a value that matches case-insensitively, preferably one in lower case. */
  keyIgnoringCase(kind: string, key: string): string | undefined {
    const found = this.#ignoringCase.get(kind, key)?.['key']
    return typeof found === 'string' ? found : undefined
  }

  /** Keys and values, sorted by key. */
  all(kind: string): [string, string][] {
    return this.#all.all(kind).map((row) => {
      const { key, value } = checkedRegister(row)
      return [key, value ?? '']
    })
  }

  /** Keys with a value, the most recently set first. */
  *newest(kind: string): Generator<string> {
    for (const row of this.#newest.iterate(kind)) yield checkedRegister(row).key
  }

  /** Applies a fact, unless a later one was applied before. Returns whether it was applied. */
  set(kind: string, key: string, place: FactPlace, value: string | undefined): boolean {
    const known = this.#register(kind, key)
    const copyKind = `${kind} copy`
    const knownCopy = known && this.#register(copyKind, key)
    if (known !== undefined && compareFacts(place, { key: known, copy: knownCopy }) < 0) return false
    this.#write({ kind, key, ...place.key, value: value ?? null })
    if (place.copy !== undefined) this.#write({ kind: copyKind, key, ...place.copy, value: null })
    else if (knownCopy !== undefined) this.#delete.run(copyKind, key)
    return true
  }

  #write(row: Register): void {
    this.#set.run(row.kind, row.key, row.lamport, row.stream, row.value, registerCrc(row))
  }

  /** The offsets up to which events were applied, by stream. */
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
    return row && checkedRegister(row)
  }
}

const columns = 'kind, key, lamport, stream, value, crc'

/** The row of a register. */
interface Register extends EventKey {
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

/** Verifies the checksum of a row; rows of an earlier version have none. */
function checkedRegister(row: object): Register {
  const register = row as Register & { readonly crc: number | null }
  const { kind, key, crc } = register
  if (crc !== null && crc !== registerCrc(register)) throw new DamagedData(`the ${kind} '${key}' is damaged`)
  return register
}
