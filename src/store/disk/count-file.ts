import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { systemCode } from '../../base/errors.ts'
import type { BackgroundReporter, BackgroundWork } from './background.ts'
import type { StoreDamage } from './wal-check.ts'

/** Fixed length of the file, so that overwriting it changes one sector of the disk. */
const lineBytes = 64

/** Where write failures are reported, and as which work. */
export interface CountFileReport {
  readonly background: BackgroundReporter
  readonly work: BackgroundWork
}

/**
 * The count file beside a database: the number of events or changes that were committed. It detects a damaged or lost
 * write-ahead log: a database with less than the count has lost commits. It is written after commits, for events
 * not after each one, and never synced: it may be behind the database, but is never ahead.
 */
export class CountFile {
  readonly #file: string
  readonly #what: string
  readonly #report: CountFileReport | undefined
  #recorded: number | undefined
  #descriptor: number | undefined

  /** @param what what is counted, in the plural */
  constructor(database: string, what: string, report?: CountFileReport) {
    this.#file = `${database}-count`
    this.#what = what
    this.#report = report
  }

  /** Compares the count of the database with the file. */
  compare(found: number): StoreDamage | undefined {
    const recorded = this.#read()
    if (recorded === 'damaged') {
      const text = `\`${this.#file}\`, where the number of ${this.#what} is noted, is damaged: whether some are missing cannot be told from it. It is written anew.`
      return { text, isCertain: false }
    }
    // No file stands for 0: a database without events needs none.
    this.#recorded = recorded ?? 0
    if (recorded === undefined || recorded <= found) return undefined
    const text = `${recorded - found} of ${recorded} ${this.#what} that had been stored are missing: the database has ${found}, and \`${this.#file}\` says how many there were. Check the disk, run \`shoal store verify\` once the node is stopped, and restore a backup if there is one.`
    return { text, isCertain: true }
  }

  /** Writes the count, after the commit. A failure loses no stored data. */
  record(count: number): void {
    if (count === this.#recorded) return
    try {
      this.#descriptor ??= openSync(this.#file, constants.O_RDWR | constants.O_CREAT, 0o600)
      writeSync(this.#descriptor, lineOf(count), 0, 'latin1')
      this.#recorded = count
      this.#report?.background.succeeded(this.#report.work)
    } catch (error) {
      if (systemCode(error) === undefined) throw error
      // The commit has succeeded, so this is only reported; the next commit retries.
      this.#report?.background.failed(this.#report.work, error)
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #read(): number | 'damaged' | undefined {
    let line: string
    try {
      line = readFileSync(this.#file, 'latin1')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
    // Created, and not written before the power failed.
    if (line === '') return undefined
    const count = Number(/^\d+/.exec(line)?.[0])
    return line === lineOf(count) ? count : 'damaged'
  }
}

function lineOf(count: number): string {
  const text = String(count)
  return `${`${text} ${crc32(text).toString(16)}`.padEnd(lineBytes - 1)}\n`
}
