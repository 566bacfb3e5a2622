import { stringEnd } from './json-string.ts'

/**
 * The JSON text of an object member, verbatim. Of duplicate members the last one wins, as in `JSON.parse`. The input
 * has to be a valid JSON object.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined
  let depth = 0
  let key: string | undefined
  let valueStart = 0
  let last: readonly [start: number, end: number] = [0, 0]
  for (let at = 0; at < json.length; at++) {
    switch (json[at]) {
      case '"': {
        const end = stringEnd(json, at)
        if (depth === 1) last = [at, end]
        at = end - 1
        break
      }
      case ':':
        if (depth !== 1 || key !== undefined) break
        key = JSON.parse(json.slice(...last)) as string
        valueStart = at + 1
        break
      case '{':
      case '[':
        depth++
        break
      case ',':
      case '}':
      case ']':
        if (depth === 1 && key === name) found = json.slice(valueStart, at).trim()
        if (depth === 1) key = undefined
        if (json[at] !== ',') depth--
        break
    }
  }
  return found
}
