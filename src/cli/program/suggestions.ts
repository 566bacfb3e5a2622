/** Maximum number of suggested commands. */
const shown = 4

/** Commands of any group whose last word equals or resembles a word. `paths` are like `shoal events query`. */
export function similarCommands(word: string, paths: readonly string[]): string[] {
  const last = (path: string): string => path.slice(path.lastIndexOf(' ') + 1)
  const exact = paths.filter((path) => last(path) === word)
  if (exact.length > 0) return exact.slice(0, shown)
  const distances = paths.map((path) => ({ path, distance: editDistance(word, last(path)) }))
  const least = Math.min(...distances.map(({ distance }) => distance))
  // Up to two typing errors, and never half of the word.
  if (least > 2 || least * 2 >= word.length) return []
  return distances.flatMap(({ path, distance }) => (distance === least ? [path] : [])).slice(0, shown)
}

/** Commands of the same group and name: `shoal settings get` and `shoal settings local get`. */
export function namesakes(path: string, paths: readonly string[]): string[] {
  const words = path.split(' ')
  return paths.filter((other) => {
    const others = other.split(' ')
    return other !== path && others.length > 2 && others[1] === words[1] && others.at(-1) === words.at(-1)
  })
}

/** The Damerau-Levenshtein distance: inserted, removed, replaced and transposed letters. */
export function editDistance(a: string, b: string): number {
  // Bounds the work for a long text that was pasted.
  if (Math.abs(a.length - b.length) > 2) return Math.max(a.length, b.length)
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : replaced
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped))
    }
  }
  return at(a.length, b.length)
}
