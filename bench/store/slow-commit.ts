// Loaded into every thread of a process before anything else: makes each commit take 1 ms longer, without using the
// processor, as on a disk whose sync takes that long. What folds the log back is not slowed down.
import { DatabaseSync, type StatementSync } from 'node:sqlite'

const prepare = DatabaseSync.prototype.prepare
const never = new Int32Array(new SharedArrayBuffer(4))

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql)
  if (sql !== 'COMMIT' && !sql.startsWith('INSERT')) return statement
  const { run } = statement
  statement.run = (...values: unknown[]) => {
    const result = Reflect.apply(run, statement, values) as ReturnType<StatementSync['run']>
    // Within a transaction nothing is committed yet.
    if (!this.isTransaction) Atomics.wait(never, 0, 0, 1)
    return result
  }
  return statement
}
