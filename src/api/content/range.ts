/** Some of the bytes of a file: from one place to before another. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The part of a file that a Range header asks for: nothing when it asks for none, or for several, which is answered with
 * the whole file; `unsatisfiable` when there are no such bytes.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1)
  return start < end ? { start, end } : 'unsatisfiable'
}
