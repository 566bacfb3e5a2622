import { format } from '../../../base/format.ts'

/**
 * Each block of a segment has a column of its own: SQLite cannot read a part of a value, but reads only the pages of
 * the selected columns.
 */
export const blockColumns: readonly string[] = Array.from({ length: format.blocksPerSegment }, (_, i) => `block${i}`)

/** The metadata of a segment, without its contents. */
export const metadataColumns = 'key, count, lamport, last, size, crc'

export const segmentColumns = `${metadataColumns}, framing, ${blockColumns.join(', ')}`

export const segmentTable = `
  CREATE TABLE segment (
    key INTEGER PRIMARY KEY, count INTEGER NOT NULL, lamport INTEGER NOT NULL, last INTEGER NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL,
    pad BLOB NOT NULL, framing BLOB NOT NULL, ${blockColumns.map((name) => `${name} BLOB`).join(', ')}
  ) STRICT;`

/** The size of a segment; SQLite does not read the values for it. */
export const segmentBytes = ['framing', ...blockColumns].map((name) => `ifnull(length(${name}), 0)`).join(' + ')

const cases = blockColumns.map((name, i) => `WHEN ${i} THEN ${name}`).join(' ')

/** The block that contains the bound key. Numbers are bound as reals, hence the cast. */
export const blockOfKey = `CASE CAST((?1 - key) / size AS INTEGER) ${cases} END`
