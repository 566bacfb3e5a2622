/** Whether a UTF-16 code unit has the Unicode property `White_Space`. All such characters are single units. */
export function isSpace(unit: number): boolean {
  if (unit < 0x85) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
  if (unit === 0x85 || unit === 0xa0 || unit === 0x1680 || unit === 0x3000) return true
  return (unit >= 0x2000 && unit <= 0x200a) || unit === 0x2028 || unit === 0x2029 || unit === 0x202f || unit === 0x205f
}

export function isLineBreak(unit: number): boolean {
  return unit === 0x0a || unit === 0x0d
}

/** The position of the line break that ends this line, or the end of the text. */
export function lineEnd(text: string, start: number): number {
  let at = start
  while (at < text.length && !isLineBreak(text.charCodeAt(at))) at++
  return at
}

export function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

function isLower(unit: number): boolean {
  return unit >= 0x61 && unit <= 0x7a
}

function isUpper(unit: number): boolean {
  return unit >= 0x41 && unit <= 0x5a
}

/** The end of the identifier (variable or property name) that starts here; `start` itself when there is none. */
export function identifierEnd(text: string, start: number): number {
  const unit = text.charCodeAt(start)
  if (unit === 0x5f) return start + 1
  if (isLower(unit)) return wordEnd(text, start)
  // Fast path: most characters that cannot start an identifier are in these ranges.
  if (unit < 0x41 || (unit > 0x5a && unit < 0x80)) return start
  return /[\p{Lowercase}]|\p{Uppercase}\p{Lowercase}/uy.test(text.slice(start, start + 4))
    ? wordEnd(text, start)
    : start
}

/** The end of the function name that starts here; `start` itself when there is none. */
export function functionNameEnd(text: string, start: number): number {
  const unit = text.charCodeAt(start)
  if (unit < 0x80 && !isUpper(unit)) return start
  return /\p{Uppercase}\p{Lowercase}/uy.test(text.slice(start, start + 4)) ? wordEnd(text, start) : start
}

export function isIdentifier(text: string): boolean {
  return text !== '' && identifierEnd(text, 0) === text.length
}

/** A loop, because the stack use of a regular expression grows with the length of the name. */
function wordEnd(text: string, start: number): number {
  let at = start
  while (at < text.length) {
    const code = text.codePointAt(at) ?? 0
    if (!isWordCharacter(code)) break
    at += code > 0xffff ? 2 : 1
  }
  return at
}

function isWordCharacter(code: number): boolean {
  if (code > 0x7f) return /[\p{Alphabetic}\p{N}]/u.test(String.fromCodePoint(code))
  return isDigit(code) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a) || code === 0x5f
}
