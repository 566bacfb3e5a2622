import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeProcess } from '../node-process.ts'

/** Resident memory of a node in megabytes. */
export async function memoryOf({ url }: NodeProcess): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const [, bytes] = /^process_resident_memory_bytes(?:\{.*\})? (\d+)/m.exec(text) ?? []
  if (bytes === undefined) throw new Error(`the node does not report its memory:\n${text}`)
  return Number(bytes) / 1e6
}

/** The size of the write-ahead log of a node in megabytes. */
export function logSizeOf({ folder }: NodeProcess): number {
  const topics = join(folder, 'topics')
  const files = readdirSync(topics).filter((name) => name.endsWith('.db-wal'))
  return Math.max(0, ...files.map((name) => statSync(join(topics, name)).size)) / 1e6
}

/** Samples a value once a second, and keeps the maximum. */
export class Peak {
  readonly #measure: () => number | Promise<number>
  readonly #timer: NodeJS.Timeout
  #largest = Number.NEGATIVE_INFINITY

  constructor(measure: () => number | Promise<number>) {
    this.#measure = measure
    this.#timer = setInterval(() => this.#look().catch(() => {}), 1000)
  }

  /** Takes a last sample. Returns the maximum. */
  async end(): Promise<number> {
    clearInterval(this.#timer)
    await this.#look()
    return this.#largest
  }

  async #look(): Promise<void> {
    this.#largest = Math.max(this.#largest, await this.#measure())
  }
}
