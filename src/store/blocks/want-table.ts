import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { WantedBlock, WantPlace, WantRank } from '../port/index.ts'

/** The blocks that are referenced and not stored, in the order in which they are fetched. */
export class WantTable {
  readonly #any: StatementSync
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #raise: StatementSync
  readonly #list: StatementSync
  readonly #below: StatementSync
  #isAdded = false

  constructor(database: DatabaseSync) {
    this.#any = database.prepare('SELECT 1 FROM want LIMIT 1')
    this.#insert = database.prepare('INSERT INTO want VALUES (?, ?, ?)')
    this.#delete = database.prepare('DELETE FROM want WHERE block = ? RETURNING class, age')
    this.#raise = database.prepare(
      `WITH RECURSIVE tree(id) AS (VALUES (?) UNION SELECT child FROM link JOIN tree ON parent = tree.id)
        UPDATE want SET class = ?2, age = ?3 WHERE block IN tree AND (class, age) > (?2, ?3)`,
    )
    this.#list = database.prepare(
      `SELECT cid, class, age, want.block FROM want JOIN block ON id = want.block
        WHERE (class, age, want.block) > (?, ?, ?) ORDER BY class, age, want.block LIMIT ?`,
    )
    this.#below = database.prepare(
      'SELECT cid FROM link JOIN want ON want.block = child JOIN block ON id = child WHERE parent = ? ORDER BY id LIMIT ?',
    )
  }

  add(block: number, rank: WantRank): void {
    this.#insert.run(block, rank.class, rank.age)
    this.#isAdded = true
  }

  /** Removes a block. Returns its rank, if it was wanted. */
  remove(block: number): WantRank | undefined {
    const row = this.#delete.get(block)
    return row && { class: Number(row['class']), age: Number(row['age']) }
  }

  /** Gives all wanted blocks of a DAG at least this rank. */
  raise(root: number, rank: WantRank): void {
    // Most of the time nothing is missing, and the DAG need not be traversed.
    if (this.#any.get() !== undefined) this.#raise.run(root, rank.class, rank.age)
  }

  list(limit: number, after?: WantPlace): WantedBlock[] {
    const rows = this.#list.all(after?.class ?? -1, after?.age ?? 0, after?.block ?? 0, limit)
    return rows.map((row) => {
      const place = { class: Number(row['class']), age: Number(row['age']), block: Number(row['block']) }
      return { cid: row['cid'] as Uint8Array, place }
    })
  }

  /** The wanted blocks that a block links to. */
  below(parent: number, limit: number): Uint8Array[] {
    return this.#below.all(parent, limit).map((row) => row['cid'] as Uint8Array)
  }

  /** Whether blocks were added since the last call. */
  takeAdded(): boolean {
    const isAdded = this.#isAdded
    this.#isAdded = false
    return isAdded
  }
}
