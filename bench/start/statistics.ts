/** Summary statistics of measurements. */
export interface Summary {
  readonly p50: number
  readonly min: number
  readonly max: number
}

export function summary(values: readonly number[]): Summary {
  return { p50: median(values), min: Math.min(...values), max: Math.max(...values) }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [below = Number.NaN, above = Number.NaN] = [sorted[middle - 1], sorted[middle]]
  return sorted.length % 2 === 1 ? above : (below + above) / 2
}

/** The median of the ratios per round: a slow moment of the machine affects both sides of a ratio. */
export function ratio(values: readonly number[], base: readonly number[]): number {
  return median(values.map((value, round) => value / (base[round] ?? Number.NaN)))
}
