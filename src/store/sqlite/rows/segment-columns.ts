import { format } from '../../../base/format.ts'

/**
 * The columns of a segment. Each of its blocks has one: SQLite gives no part of a value, but of a row it reads only the
 * pages of the columns that it is asked for.
 */
export const blockColumns: readonly string[] = Array.from({ length: format.blocksPerSegment }, (_, i) => `block${i}`)

/** What a segment is, without what is in it. */
export const placeColumns = 'key, count, lamport, last, size, crc'

export const segmentColumns = `${placeColumns}, framing, ${blockColumns.join(', ')}`

export const segmentTable = `
  CREATE TABLE segment (
    key INTEGER PRIMARY KEY, count INTEGER NOT NULL, lamport INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL,
    pad BLOB NOT NULL, framing BLOB NOT NULL, ${blockColumns.map((name) => `${name} BLOB`).join(', ')}
  ) STRICT;`

/** The bytes of a segment; it is not read for that. */
export const segmentBytes = ['framing', ...blockColumns].map((name) => `ifnull(length(${name}), 0)`).join(' + ')

const cases = blockColumns.map((name, i) => `WHEN ${i} THEN ${name}`).join(' ')

/** Which of the blocks holds the key that is bound. Numbers are bound as reals. */
export const blockOfKey = `CASE CAST((?1 - key) / size AS INTEGER) ${cases} END`
