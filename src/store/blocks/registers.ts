import type { DatabaseSync, StatementSync } from 'node:sqlite'

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
  readonly #inAnyCase: StatementSync
  readonly #all: StatementSync
  readonly #set: StatementSync
  readonly #followed: StatementSync
  readonly #follow: StatementSync

  constructor(database: DatabaseSync) {
    this.#get = database.prepare('SELECT lamport, stream, value FROM register WHERE kind = ? AND key = ?')
    this.#inAnyCase = database.prepare(
      'SELECT key FROM register WHERE kind = ? AND key = ? COLLATE NOCASE AND value IS NOT NULL ORDER BY key DESC',
    )
    this.#all = database.prepare(
      'SELECT key, lamport, stream, value FROM register WHERE kind = ? AND value IS NOT NULL ORDER BY key',
    )
    this.#set = database.prepare('INSERT OR REPLACE INTO register VALUES (?, ?, ?, ?, ?)')
    this.#followed = database.prepare('SELECT stream, offset FROM followed')
    this.#follow = database.prepare(
      'INSERT INTO followed VALUES (?, ?) ON CONFLICT DO UPDATE SET offset = max(offset, excluded.offset)',
    )
  }

  get(kind: string, key: string): string | undefined {
    const value = this.#get.get(kind, key)?.['value']
    return typeof value === 'string' ? value : undefined
  }

  /** A key with a value that is the same but for capital letters; before others one that has none. */
  keyInAnyCase(kind: string, key: string): string | undefined {
    const found = this.#inAnyCase.get(kind, key)?.['key']
    return typeof found === 'string' ? found : undefined
  }

  /** Keys and values, by key. */
  all(kind: string): [string, string][] {
    return this.#all.all(kind).map((row) => [String(row['key']), String(row['value'])])
  }

  /** Believes an event, unless a later one is known; answers whether it does. */
  set(kind: string, key: string, place: Place, value: string | undefined): boolean {
    const row = this.#get.get(kind, key)
    if (
      row !== undefined &&
      comparePlaces(place, { lamport: Number(row['lamport']), stream: String(row['stream']) }) < 0
    )
      return false
    this.#set.run(kind, key, place.lamport, place.stream, value ?? null)
    return true
  }

  /** Up to which offsets of which streams events were followed. */
  followed(): Record<string, number> {
    return Object.fromEntries(this.#followed.all().map((row) => [String(row['stream']), Number(row['offset'])]))
  }

  follow(offsets: Readonly<Record<string, number>>): void {
    for (const [stream, offset] of Object.entries(offsets)) this.#follow.run(stream, offset)
  }
}

/** By lamport timestamp, then by node, whose ID sorts like its bytes, then by the number of the stream. */
function comparePlaces(a: Place, b: Place): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport
  const [aNode = '', aNumber = ''] = a.stream.split('-')
  const [bNode = '', bNumber = ''] = b.stream.split('-')
  if (aNode !== bNode) return aNode < bNode ? -1 : 1
  return Number(BigInt(aNumber) - BigInt(bNumber))
}
