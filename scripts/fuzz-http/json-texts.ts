import type { Random } from '../crash/random.ts'

/** Fragments for mutations: JSON delimiters, numbers out of range, invalid UTF-8. */
const rubbish: readonly [Buffer, ...Buffer[]] = [
  Buffer.from('{'),
  ...['}', '[', ']', '"', ',', ':', '\\', '\\u', '\\ud800', '\\udfff\\ud800', '\0', '\ufeff', '\u2028', '//', "'"].map(
    (text) => Buffer.from(text),
  ),
  ...['null', 'true', '-0', '00', '1e999', '-1e-999', '.5', '1.', '9'.repeat(400), '18446744073709551616', 'NaN'].map(
    (text) => Buffer.from(text),
  ),
  ...[[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82], [0x80], [0x0a], [0x0d]].map(
    (bytes) => Buffer.from(bytes),
  ),
]

const depths: readonly [number, ...number[]] = [10, 511, 512, 513, 5000, 100_000]

/** A random JSON value, usually small. */
export function anyValue(random: Random, depth = 0): unknown {
  const simple = [null, true, false, 0, -1.5, 1e300, Number.MAX_SAFE_INTEGER, '', 'text', 'ö🐟\u0000"\\'] as const
  if (depth > 3 || random.chance(0.6)) return random.pick(simple as unknown as [unknown, ...unknown[]])
  const values = Array.from({ length: random.below(4) }, () => anyValue(random, depth + 1))
  return random.chance(0.5) ? values : Object.fromEntries(values.map((value, i) => [`k${i}`, value]))
}

/** Mutates a valid text; the result is usually malformed. */
export function damagedText(text: Buffer, random: Random): Buffer {
  let damaged = text
  for (let times = random.below(3) + 1; times > 0; times--) damaged = damagedOnce(damaged, random)
  return damaged
}

function damagedOnce(text: Buffer, random: Random): Buffer {
  const start = random.below(text.length + 1)
  const end = Math.min(text.length, start + random.below(16))
  const [before, within, after] = [text.subarray(0, start), text.subarray(start, end), text.subarray(end)]
  switch (random.below(6)) {
    case 0:
      return Buffer.concat([before, after])
    case 1:
      return Buffer.concat([before, random.pick(rubbish), text.subarray(start)])
    case 2:
      return Buffer.concat([before, random.pick(rubbish), after])
    case 3:
      return Buffer.concat([before, within, within, after])
    case 4:
      return before
    default: {
      const depth = random.pick(depths)
      return Buffer.concat([before, Buffer.alloc(depth, '['), within, Buffer.alloc(depth, ']'), after])
    }
  }
}
