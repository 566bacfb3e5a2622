import { latestMicros } from '../base/timestamps.ts'
import type { ByteReader } from './bytes.ts'
import { MalformedBytes } from './bytes.ts'

/** Reads a time in a form that `ByteReader.uvarint` refuses; answers with the nearest time that can be stored. */
export type LegacyTime = (reader: ByteReader) => number

const farBytes = 8

/**
 * The forms of times that earlier versions wrote while the clock was wrong: before 1970 one byte, whatever it is, and after
 * 2255 eight bytes, of which the first seven say that another one follows. What time it was cannot be known from the first.
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
