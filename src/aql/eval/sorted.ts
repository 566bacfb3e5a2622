import type { Pace, Steps } from '../steps.ts'

/** Characters of a fingerprint that are compared per unit of work. */
const charactersPerUnit = 16

/** A stable merge sort that yields. The cost of a comparison is proportional to the size of its operands. */
export function* mergeSort<T extends { readonly size: number }>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  pace: Pace,
): Steps<readonly T[]> {
  if (items.length < 2) return items
  const middle = items.length >> 1
  const left = yield* mergeSort(items.slice(0, middle), compare, pace)
  const right = yield* mergeSort(items.slice(middle), compare, pace)
  const merged: T[] = []
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    const [a, b] = [left[i] as T, right[j] as T]
    const takesLeft = compare(a, b) <= 0
    merged.push(takesLeft ? a : b)
    if (takesLeft) i++
    else j++
    if (pace.isDue(1 + Math.min(a.size, b.size) / charactersPerUnit)) yield
  }
  return [...merged, ...left.slice(i), ...right.slice(j)]
}
