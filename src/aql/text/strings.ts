import type { Reader } from './text-reader.ts'

/**
 * Parses a string literal. Two quotes at its start are an escaped quote if the literal is closed later, else it is
 * empty.
 */
export function readString(reader: Reader): string | undefined {
  const { text, at } = reader
  const read = readFilledString(reader)
  if (read !== undefined) return read
  const quote = text[at]
  if ((quote !== "'" && quote !== '"') || text[at + 1] !== quote) return undefined
  reader.advance(at + 2)
  reader.skipTrivia()
  return ''
}

/** Parses a non-empty string literal. A doubled quote stands for the quote itself. */
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
  reader.advance(end + 1)
  reader.skipTrivia()
  return text.slice(at + 1, end).replaceAll(quote + quote, quote)
}
