import type { Run } from './append.ts'

/** Adds the next event of a request to its runs: it extends the last run, or starts one in another stream. */
export function addToRuns(runs: Run[], stream: number, offset: number): void {
  const last = runs.at(-1)
  if (last?.stream === stream) last.count++
  else runs.push({ stream, offset, count: 1 })
}
