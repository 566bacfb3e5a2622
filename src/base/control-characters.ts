/**
 * Escapes control characters except line breaks and tabs, so that untrusted text cannot send terminal sequences. JSON
 * stays the same value, since it has control characters without an escape in strings only.
 */
export function escapeControls(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, escaped)
}

/** The same for text that has to stay in one line, such as a cell of a table. */
export function escapeLine(text: string): string {
  return text.replace(/\p{Cc}/gu, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
