import { writeSync } from 'node:fs'

/**
 * The workload of a victim: a mix of all operations; appends that are heavy enough for concurrent sealing; or pauses
 * after a few requests, in which the store seals.
 */
export type Mood = 'mixed' | 'heavy' | 'quiet'

/** The job of a victim: writing to a store until it is killed. */
export interface Job {
  readonly file: string
  readonly topic: string
  readonly privateKey: string
  readonly seed: string
  /** The number of this life, from which the numbers of its requests are derived. */
  readonly life: number
  /** The number of concurrent callers. */
  readonly callers: number
  readonly mood: Mood
  /** Only opens the store and closes it again. */
  readonly idle?: boolean
}

/** Consecutive events of a stream: stream, offset, count. */
export type RunText = readonly [stream: number, offset: number, count: number]

/** A report of a victim: before it calls the store, and after the call was acknowledged. */
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

/** Writes synchronously: after this returns the report survives a kill of this process. */
export function say(report: Report): void {
  const line = Buffer.from(`${JSON.stringify(report)}\n`)
  for (let at = 0; at < line.length; ) at += writeSync(reportPipe, line, at)
}

/** Parses the reports from a pipe. A last line that was truncated by the kill is ignored. */
export function parseReports(text: string): Report[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Report)
}
