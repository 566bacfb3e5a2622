import { stringEnd } from './json-string.ts'

/** Whatever a JSON text is made of: starts of strings, brackets, and what is between them. */
const token = /"|[[\]{},:]|[^\s[\]{},:"]+/g

/**
 * The text of a member of an object, as it stands there; of the last one if there are several, as `JSON.parse` has it.
 * The text has to be a valid JSON object.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined
  let depth = 0
  let key: string | undefined
  let valueStart = 0
  let last = ''
  for (const { text, start } of tokensOf(json)) {
    if (depth === 1 && (text === ',' || text === '}')) {
      if (key === name) found = json.slice(valueStart, start).trim()
      key = undefined
    }
    if (depth === 1 && text === ':' && key === undefined) {
      key = JSON.parse(last) as string
      valueStart = start + 1
    }
    if (text === '{' || text === '[') depth++
    if (text === '}' || text === ']') depth--
    last = text
  }
  return found
}

function* tokensOf(json: string): Generator<{ text: string; start: number }> {
  token.lastIndex = 0
  for (let match = token.exec(json); match !== null; match = token.exec(json)) {
    const start = match.index
    if (match[0] === '"') token.lastIndex = stringEnd(json, start)
    yield { text: json.slice(start, token.lastIndex), start }
  }
}
