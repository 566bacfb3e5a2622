/** A JSON syntax error or a value of the wrong type; the message has the line and column. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

/** An error at a position of a text that is given by a range of bytes. Lines and columns count from its start. */
export function errorAt(what: string, bytes: Buffer, start: number, end: number, at: number): JsonError {
  const before = bytes.subarray(start, at)
  const lineStart = start + before.lastIndexOf(0x0a) + 1
  let line = 1
  for (let i = before.indexOf(0x0a); i >= 0; i = before.indexOf(0x0a, i + 1)) line++
  const column = Math.min(at + 1, end) - lineStart
  return new JsonError(`${at >= end ? endOf(what) : what} at line ${line} column ${column}`)
}

/** The type of a value, by its first byte. */
export function typeName(byte: number): string {
  const names = { '"': 'string', '[': 'sequence', '{': 'map', t: 'boolean', f: 'boolean', n: 'null' }
  const character = String.fromCharCode(byte)
  if (/[-0-9]/.test(character)) return 'number'
  return names[character as keyof typeof names] ?? `\`${character}\``
}

/** At the end of the text every error is an unexpected EOF. */
function endOf(what: string): string {
  return what.startsWith('EOF') ? what : `EOF while parsing: ${what}`
}

/** The position of the first invalid UTF-8 byte: a decoder replaces it. */
export function firstInvalid(bytes: Buffer): number {
  const decoded = Buffer.from(bytes.toString('utf8'))
  let at = 0
  while (bytes[at] === decoded[at]) at++
  return at
}
