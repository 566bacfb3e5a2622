import { AqlError, format, type MainQuery, print } from '../../src/aql/index.ts'
import { readQuery } from '../../src/aql/parse.ts'
import { Reader } from '../../src/aql/text/text-reader.ts'

/** Maximum parser steps per character, for any text. A number and a comma take the most, about 18. */
export const stepsPerCharacter = 40

export interface Reading {
  readonly query: MainQuery | undefined
  /** Steps per character, plus a few characters, because even an empty text takes some steps. */
  readonly effort: number
}

/** Parses a text. Throws for any failure other than a syntax error. */
export function check(text: string): Reading {
  const reader = new Reader(text)
  let query: MainQuery | undefined
  try {
    query = readQuery(reader, 0n)
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
  }
  const effort = reader.steps / (text.length + 10)
  if (effort > stepsPerCharacter) throw new Error(`${reader.steps} steps for ${text.length} characters`)
  if (query !== undefined) for (const write of [print, format]) checkStable(query, write)
  return { query, effort }
}

function checkStable(query: MainQuery, write: (query: MainQuery) => string): void {
  const text = write(query)
  const again = write(readQuery(new Reader(text), 0n))
  if (again !== text) throw new Error(`${write.name} is not stable:\n${text}\n${again}`)
}
