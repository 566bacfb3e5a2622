import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { PublicKey } from '../../../identity/index.ts'
import { type EventOrigin, nameOfStream } from '../../../replication/index.ts'
import { checksum, DamagedData } from './checksum.ts'

/** Only imported topics have them. `event` is the row key of the imported event. */
const tables = `
  CREATE TABLE IF NOT EXISTS origin_stream (id INTEGER PRIMARY KEY, node BLOB NOT NULL, nr INTEGER NOT NULL, UNIQUE (node, nr)) STRICT;
  CREATE TABLE IF NOT EXISTS origin (
    stream INTEGER NOT NULL, offset INTEGER NOT NULL, event INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (stream, offset)
  ) STRICT, WITHOUT ROWID;
`

/** The origins of imported events, within a transaction of the writer. */
export class OriginRows {
  readonly #streamOf: StatementSync
  readonly #addStream: StatementSync
  readonly #get: StatementSync
  readonly #put: StatementSync
  readonly #ids = new Map<string, number>()

  constructor(database: DatabaseSync) {
    database.exec(tables)
    this.#streamOf = database.prepare('SELECT id FROM origin_stream WHERE node = ? AND nr = ?')
    this.#addStream = database.prepare('INSERT INTO origin_stream (node, nr) VALUES (?, ?) RETURNING id')
    this.#get = database.prepare('SELECT event, crc FROM origin WHERE stream = ? AND offset = ?')
    this.#put = database.prepare('INSERT INTO origin (stream, offset, event, crc) VALUES (?, ?, ?, ?)')
  }

  /** Whether an event was imported. */
  has(origin: EventOrigin): boolean {
    const row = this.#get.get(this.#idOf(origin), origin.offset)
    if (row === undefined) return false
    if (row['crc'] !== crcOf(origin, Number(row['event']))) throw damaged(origin)
    return true
  }

  put(origin: EventOrigin, event: number): void {
    this.#put.run(this.#idOf(origin), origin.offset, event, crcOf(origin, event))
  }

  #idOf({ stream }: EventOrigin): number {
    const name = nameOfStream(stream)
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const { node, number } = stream
    const row = this.#streamOf.get(node, number) ?? this.#addStream.get(node, number)
    const id = Number(row?.['id'])
    this.#ids.set(name, id)
    return id
  }
}

/** Verifies the checksums of all origins. Throws at the first that is damaged. */
export function checkOrigins(database: DatabaseSync): void {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'origin'").get() === undefined) return
  const rows = database.prepare(
    'SELECT node, nr, offset, event, crc FROM origin LEFT JOIN origin_stream ON origin_stream.id = origin.stream',
  )
  for (const { node, nr, offset, event, crc } of rows.iterate()) {
    const origin = { stream: { node: node as PublicKey, number: Number(nr) }, offset: Number(offset) }
    if (crcOf(origin, Number(event)) !== crc) throw damaged(origin)
  }
}

function damaged({ stream, offset }: EventOrigin): DamagedData {
  return new DamagedData(`the origin ${stream.number}/${offset} of an imported event is damaged`)
}

function crcOf({ stream: { node, number }, offset }: EventOrigin, event: number): number {
  return checksum(node, number, offset, event)
}
