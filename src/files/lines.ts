import { StringDecoder } from 'node:string_decoder'
import type { Reading } from '../events/index.ts'

/** Parses the NDJSON lines of a query or subscription. Yields the lines of one piece together. */
export async function* linesOf(reading: Reading): AsyncGenerator<unknown[]> {
  await reading.started
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const piece of reading) {
    const lines = (rest + decoder.write(piece)).split('\n')
    rest = lines.pop() ?? ''
    yield lines.filter((line) => line !== '').map((line): unknown => JSON.parse(line))
  }
}
