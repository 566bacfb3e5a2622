/** The number of decimal digits of a non-negative number; `known` is a guess, exact for most numbers. */
export function digitsOf(value: number, known: number): number {
  let digits = known
  while (digits > 1 && value < (powers[digits - 1] as number)) digits--
  while (value >= (powers[digits] as number)) digits++
  return digits
}

const powers = Float64Array.from({ length: 18 }, (_, exponent) => 10 ** exponent)

/** Writes a number as exactly `digits` decimal ASCII digits. */
export function putDigits(bytes: Uint8Array, start: number, digits: number, value: number): void {
  let at = start + digits
  let rest = value
  if (rest > 0x7fffffff) {
    const high = Math.floor(rest / 1e8)
    let low = rest - high * 1e8
    for (let i = 0; i < 8; i++) {
      const tens = (low / 10) | 0
      bytes[--at] = 0x30 + low - tens * 10
      low = tens
    }
    rest = high
  }
  while (at > start) {
    const tens = (rest / 10) | 0
    bytes[--at] = 0x30 + rest - tens * 10
    rest = tens
  }
}
