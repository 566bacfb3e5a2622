import type { Reader } from './text-reader.ts'

/** Reads a quoted text. When a doubled quote at its beginning is never closed, it is an empty text and the end of it. */
export function readString(reader: Reader): string | undefined {
  const { text, at } = reader
  const read = readFilledString(reader)
  if (read !== undefined) return read
  const quote = text[at]
  if ((quote !== "'" && quote !== '"') || text[at + 1] !== quote) return undefined
  reader.pass(at + 2)
  reader.skip()
  return ''
}

/** Reads a quoted text that is not empty. The quote is written twice to stand for itself. */
export function readFilledString(reader: Reader): string | undefined {
  const { text, at } = reader
  const quote = text[at]
  reader.steps++
  if (quote !== "'" && quote !== '"') return undefined
  let end = at + 1
  while (true) {
    end = text.indexOf(quote, end)
    if (end < 0) {
      reader.steps += text.length - at
      return undefined
    }
    if (text[end + 1] !== quote) break
    end += 2
  }
  if (end === at + 1) return undefined
  reader.pass(end + 1)
  reader.skip()
  return text.slice(at + 1, end).replaceAll(quote + quote, quote)
}
