/** Whatever a JSON text is made of: strings, brackets, and what is between them. */
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},:]|[^\s[\]{},:"]+/g

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
  for (const { 0: token, index } of json.matchAll(tokens)) {
    if (depth === 1 && (token === ',' || token === '}')) {
      if (key === name) found = json.slice(valueStart, index).trim()
      key = undefined
    }
    if (depth === 1 && token === ':' && key === undefined) {
      key = JSON.parse(last) as string
      valueStart = index + 1
    }
    if (token === '{' || token === '[') depth++
    if (token === '}' || token === ']') depth--
    last = token
  }
  return found
}
