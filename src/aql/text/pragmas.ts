import type { Pragma } from '../ast.ts'
import { isLineBreak, isSpace, lineEnd } from './characters.ts'
import type { Reader } from './text-reader.ts'

/** Parses a pragma: `PRAGMA name := rest of the line`, or the lines between `PRAGMA name` and `ENDPRAGMA`. */
export function readPragma(reader: Reader): Pragma | undefined {
  const { text, at } = reader
  const start = text.startsWith('PRAGMA', at) ? spaceEnd(text, at + 6) : at
  const name = start > at + 6 ? /^[0-9A-Za-zø]+/.exec(text.slice(start, lineEnd(text, start)))?.[0] : undefined
  const pragma = name === undefined ? undefined : valueAt(text, blankEnd(text, start + name.length))
  if (name === undefined || pragma === undefined) {
    reader.miss('preamble')
    return undefined
  }
  reader.advance(pragma.end)
  reader.skipTrivia()
  return { name, value: pragma.value }
}

interface Value {
  readonly value: string
  readonly end: number
}

function valueAt(text: string, start: number): Value | undefined {
  if (isLineBreak(text.charCodeAt(start))) return blockAt(text, breakEnd(text, start))
  if (!text.startsWith(':=', start)) return undefined
  const from = blankEnd(text, start + 2)
  const end = lineEnd(text, from)
  return end === text.length ? undefined : { value: text.slice(from, end), end: breakEnd(text, end) }
}

/** The lines up to one that is exactly `ENDPRAGMA`, without the last line break. */
function blockAt(text: string, start: number): Value | undefined {
  const last = /(?:\r\n|\n|\r)ENDPRAGMA(?:\r\n|\n|\r)/g
  last.lastIndex = start
  const found = last.exec(text)
  return found === null ? undefined : { value: text.slice(start, found.index), end: last.lastIndex }
}

function spaceEnd(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** The end of the whitespace on this line. */
function blankEnd(text: string, start: number): number {
  let at = start
  while (isSpace(text.charCodeAt(at)) && !isLineBreak(text.charCodeAt(at))) at++
  return at
}

function breakEnd(text: string, start: number): number {
  return text.startsWith('\r\n', start) ? start + 2 : start + 1
}
