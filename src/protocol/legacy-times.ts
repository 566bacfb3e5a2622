import { latestMicros } from '../base/timestamps.ts'
import type { ByteReader } from './bytes.ts'
import { MalformedBytes } from './bytes.ts'

/** Reads a time in an encoding that `ByteReader.uvarint` refuses, clamped to the storable range. */
export type LegacyTime = (reader: ByteReader) => number

const farBytes = 8

/**
 * Encodings of times that earlier versions wrote while the clock was wrong. Before 1970 it is one arbitrary byte, from
 * which the time cannot be recovered. After 2255 it is eight bytes, the first seven with the continuation bit.
 */
export const legacyTimes: readonly LegacyTime[] = [
  (reader) => {
    reader.byte()
    return 0
  },
  (reader) => {
    const start = reader.skip(farBytes)
    for (let i = 0; i < farBytes - 1; i++)
      if ((reader.buffer[start + i] as number) < 0x80) throw new MalformedBytes('a time is too short')
    return latestMicros
  },
]
