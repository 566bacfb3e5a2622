import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** Lines are hashed together: a call of the hash costs more than its work. */
const charactersPerHash = 65_536

/** Everything that happens in a simulation, in order: equal for two runs of a seed. */
export class Trace {
  readonly #now: () => number
  readonly #hash = createHash('sha256')
  #unhashed = ''
  /** Kept only to be compared with those of another run. */
  readonly lines: string[] | undefined

  constructor(now: () => number, keepLines: boolean) {
    this.#now = now
    this.lines = keepLines ? [] : undefined
  }

  note(text: string): void {
    const line = `${this.#now()} ${text}`
    this.#unhashed += `${line}\n`
    if (this.#unhashed.length > charactersPerHash) this.#hashLines()
    this.lines?.push(line)
  }

  /** Notes something with bytes, by a checksum. */
  noteBytes(text: string, bytes: Uint8Array): void {
    this.note(`${text} ${bytes.length} bytes ${crc32(bytes)}`)
  }

  get digest(): string {
    this.#hashLines()
    return this.#hash.copy().digest('hex')
  }

  #hashLines(): void {
    this.#hash.update(this.#unhashed)
    this.#unhashed = ''
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
