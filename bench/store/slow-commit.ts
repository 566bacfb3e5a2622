// Preloaded into every thread of a process: delays each commit by 1 ms without using the CPU, like a disk whose fsync
// takes that long. Checkpoints of the write-ahead log are not delayed.
import { DatabaseSync, type StatementSync } from 'node:sqlite'

const prepare = DatabaseSync.prototype.prepare
const never = new Int32Array(new SharedArrayBuffer(4))

DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string): StatementSync {
  const statement = prepare.call(this, sql)
  if (sql !== 'COMMIT' && !sql.startsWith('INSERT')) return statement
  const { run } = statement
  statement.run = (...values: unknown[]) => {
    const result = Reflect.apply(run, statement, values) as ReturnType<StatementSync['run']>
    // Statements within a transaction do not commit.
    if (!this.isTransaction) Atomics.wait(never, 0, 0, 1)
    return result
  }
  return statement
}
