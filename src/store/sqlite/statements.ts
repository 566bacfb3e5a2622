import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Prepared statements of the writer. */
export type Statements = Record<
  'begin' | 'commit' | 'putStream' | 'getStream' | 'insertTail' | 'insertCheckpoint',
  StatementSync
>

export function prepareStatements(database: DatabaseSync): Statements {
  return {
    begin: database.prepare('BEGIN IMMEDIATE'),
    commit: database.prepare('COMMIT'),
    putStream: database.prepare(
      'INSERT OR REPLACE INTO stream (number, node, nr, pruned, checkpoint, record, head, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    getStream: database.prepare('SELECT record, head FROM stream WHERE number = ?'),
    insertTail: database.prepare(
      'INSERT INTO tail (key, count, lamport, hash, raw, crc, body) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    insertCheckpoint: database.prepare(
      'INSERT OR REPLACE INTO checkpoint (key, before, head, crc) VALUES (?, ?, ?, ?)',
    ),
  }
}
