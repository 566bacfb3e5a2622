import { writeSync } from 'node:fs'

/**
 * How a victim behaves: it does everything at once; or it appends so much that the store seals while it goes on; or it
 * pauses after a few requests, so that the store finds time to seal.
 */
export type Mood = 'mixed' | 'heavy' | 'quiet'

/** What a victim is to do: it writes to a store until it is killed. */
export interface Job {
  readonly file: string
  readonly topic: string
  readonly privateKey: string
  readonly seed: string
  /** Which life this is: its requests have numbers of their own. */
  readonly life: number
  /** How many append at the same time. */
  readonly callers: number
  readonly mood: Mood
  /** Only opens the store and closes it again. */
  readonly idle?: boolean
}

/** Events of a stream that follow each other: stream, offset, count. */
export type RunText = readonly [stream: number, offset: number, count: number]

/** What a victim says: before it asks the store for something, and after the store has answered. */
export type Report =
  | { readonly type: 'open' }
  | { readonly type: 'appending'; readonly id: number }
  | {
      readonly type: 'appended'
      readonly id: number
      readonly lamport: number
      readonly time: number
      readonly runs: readonly RunText[]
    }
  | { readonly type: 'pruning' | 'pruned'; readonly stream: number; readonly count: number }
  | { readonly type: 'redacting' | 'redacted'; readonly stream: number; readonly offset: number }
  | { readonly type: 'settling' | 'settled' }
  | { readonly type: 'failed'; readonly what: string }

/** The file descriptor that a victim writes its reports to. */
export const reportPipe = 3

/** When this returns, the other side has it, whatever happens to this process then. */
export function say(report: Report): void {
  const line = Buffer.from(`${JSON.stringify(report)}\n`)
  for (let at = 0; at < line.length; ) at += writeSync(reportPipe, line, at)
}

/** The reports in what a pipe has brought; a last line that was cut off by the kill says nothing. */
export function parseReports(text: string): Report[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Report)
}
