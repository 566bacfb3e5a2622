import type { Reader } from './text-reader.ts'

const word = /[-0-9a-z]+/y

/** Parses an app ID: words separated by dots. */
export function readAppId(reader: Reader): string | undefined {
  const start = reader.at
  if (reader.match('app_id', word) === undefined) return undefined
  while (reader.text[reader.at] === '.') {
    word.lastIndex = reader.at + 1
    if (!word.test(reader.text)) break
    reader.advance(word.lastIndex)
  }
  return reader.text.slice(start, reader.at)
}

export function isAppId(text: string): boolean {
  return text.split('.').every((part) => /^[-0-9a-z]+$/.test(part))
}
