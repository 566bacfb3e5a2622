import { DatabaseSync } from 'node:sqlite'

/** The rows of a table on a page, or of which it holds a part, by key. */
export interface PagePlace {
  readonly table: string
  /** Whether the page holds rows; otherwise it is an interior page. */
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

/** The use of each page of a database, by page number. Pages of no table are omitted. */
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
  // Leaves are in key order, so the number of rows before each of them is known.
  const rowsBefore = new Map<string, number>()
  let rows = 0
  for (const { path, pagetype, ncell } of pages)
    if (pagetype === 'leaf') {
      rowsBefore.set(path, rows)
      rows += ncell
    }
  return pages.map(({ path, pageno, pagetype, ncell }) => {
    if (pagetype === 'internal') return [pageno, { table, isLeaf: false, keys: [] }]
    // The path of an overflow page contains its leaf and the number of the row in it.
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
