/** The index of the first of ascending values that is at least `value`; the number of values if there is none. */
export function firstAtLeast(rising: Float64Array, value: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rising[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
