import { setTimeout } from 'node:timers/promises'
import { post, type Target } from './target.ts'

/** Reads the response to a query at a limited rate for some time. Returns the received megabytes. */
export async function readSlowly(target: Target, query: string, perSecond: number, seconds: number): Promise<number> {
  const answer = await post(target, 'query', { query, order: 'asc' })
  const begun = performance.now()
  let bytes = 0
  for await (const part of answer) {
    bytes += (part as Buffer).length
    const elapsed = performance.now() - begun
    if (elapsed > seconds * 1000) break
    const pause = (bytes / perSecond) * 1000 - elapsed
    if (pause > 0) await setTimeout(pause)
  }
  answer.destroy()
  return bytes / 1e6
}

/** Reads the response to a query at full speed. Returns its first line and the number of bytes. */
export async function readFully(
  target: Target,
  query: string,
  signal: AbortSignal,
): Promise<{ first: string; bytes: number; isWhole: boolean }> {
  const answer = await post(target, 'query', { query, order: 'asc' })
  signal.addEventListener('abort', () => answer.destroy())
  let first = ''
  let bytes = 0
  try {
    for await (const part of answer) {
      if (!first.includes('\n')) first += String(part)
      bytes += (part as Buffer).length
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return { first: first.split('\n')[0] ?? '', bytes, isWhole: !signal.aborted }
}
