import { DatabaseSync } from 'node:sqlite'

/** Rows of a table by the order of their keys, and which of them a page holds a part of. */
export interface PagePlace {
  readonly table: string
  /** Whether rows are in it; otherwise it says where others are. */
  readonly isLeaf: boolean
  readonly keys: readonly number[]
}

interface Page {
  readonly name: string
  readonly path: string
  readonly pageno: number
  readonly pagetype: 'leaf' | 'internal' | 'overflow'
  readonly ncell: number
}

/** What each page of a database is for, by its number. Pages that are in no table are in none of it. */
export function placesOf(file: string): Map<number, PagePlace> {
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const pages = database
      .prepare('SELECT name, path, pageno, pagetype, ncell FROM dbstat ORDER BY name, path')
      .all() as unknown as Page[]
    const byTable = Map.groupBy(pages, ({ name }) => name)
    return new Map([...byTable].flatMap(([table, ofTable]) => placesInTable(table, ofTable, keysOf(database, table))))
  } finally {
    database.close()
  }
}

function placesInTable(table: string, pages: readonly Page[], keys: readonly number[]): [number, PagePlace][] {
  // Leaves come in the order of their keys: so many rows are before each of them.
  const rowsBefore = new Map<string, number>()
  let rows = 0
  for (const { path, pagetype, ncell } of pages)
    if (pagetype === 'leaf') {
      rowsBefore.set(path, rows)
      rows += ncell
    }
  return pages.map(({ path, pageno, pagetype, ncell }) => {
    if (pagetype === 'internal') return [pageno, { table, isLeaf: false, keys: [] }]
    // The pages that a row goes on in are called after their leaf and the number of the row in it.
    const [leaf = '', cell = ''] = pagetype === 'leaf' ? [path] : [path.slice(0, -10), path.slice(-10, -7)]
    const first = (rowsBefore.get(leaf) ?? 0) + (pagetype === 'leaf' ? 0 : Number.parseInt(cell, 16))
    return [pageno, { table, isLeaf: true, keys: keys.slice(first, first + (pagetype === 'leaf' ? ncell : 1)) }]
  })
}

function keysOf(database: DatabaseSync, table: string): number[] {
  if (!['segment', 'tail', 'posting', 'checkpoint'].includes(table)) return []
  return database
    .prepare(`SELECT key FROM ${table} ORDER BY key`)
    .all()
    .map(({ key }) => Number(key))
}
