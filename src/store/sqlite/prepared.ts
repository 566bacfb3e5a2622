import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The statements of each connection, by their text, which is one of a few constants. */
const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>()

/** A statement that is used for every received chunk: to parse it again takes longer than to run it. */
export function preparedOnce(database: DatabaseSync, sql: string): StatementSync {
  const statements = prepared.get(database) ?? new Map<string, StatementSync>()
  prepared.set(database, statements)
  const statement = statements.get(sql) ?? database.prepare(sql)
  statements.set(sql, statement)
  return statement
}
