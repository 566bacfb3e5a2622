import { createHash, hash } from 'node:crypto'

/** Everything that happens in a simulation, in order: equal for two runs of a seed. */
export class Trace {
  readonly #now: () => number
  readonly #hash = createHash('sha256')
  /** Kept only to be compared with those of another run. */
  readonly lines: string[] | undefined

  constructor(now: () => number, keepLines: boolean) {
    this.#now = now
    this.lines = keepLines ? [] : undefined
  }

  note(text: string): void {
    const line = `${this.#now()} ${text}`
    this.#hash.update(`${line}\n`)
    this.lines?.push(line)
  }

  /** Notes something with bytes, by their hash. */
  noteBytes(text: string, bytes: Uint8Array): void {
    this.note(`${text} ${bytes.length} bytes ${hash('sha256', bytes).slice(0, 16)}`)
  }

  get digest(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** The first line in which two traces differ, with the line of each; undefined when they are equal. */
export function firstDifference(a: readonly string[], b: readonly string[]): string | undefined {
  const length = Math.max(a.length, b.length)
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return `line ${i + 1}: ${shortened(a[i])} / ${shortened(b[i])}`
  return undefined
}

function shortened(line: string | undefined): string {
  return line === undefined ? 'nothing' : line.slice(0, 300)
}
