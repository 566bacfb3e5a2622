/**
 * The condition of a route, in disjunctive normal form: quoted tags joined by `|` and `&`, where `&` binds tighter. A
 * doubled quote inside a quoted tag is an escaped quote.
 */
export interface TagCondition {
  /** Matches when an event has all tags of at least one group. */
  readonly anyOf: readonly (readonly string[])[]
}

class RouteSyntaxError extends Error {}

export function parseRoute(text: string): TagCondition {
  const anyOf: string[][] = [[]]
  let at = skipSpace(text, 0)
  while (true) {
    const { tag, end } = quoted(text, at)
    anyOf.at(-1)?.push(tag)
    at = skipSpace(text, end)
    if (at === text.length) return { anyOf }
    const operator = text.charAt(at)
    if (operator === '|') anyOf.push([])
    else if (operator !== '&') throw new RouteSyntaxError(`expected '|', '&' or the end ${place(text, at)}`)
    at = skipSpace(text, at + 1)
  }
}

export function matches(condition: TagCondition, tags: ReadonlySet<string>): boolean {
  return condition.anyOf.some((group) => group.every((tag) => tags.has(tag)))
}

function quoted(text: string, start: number): { tag: string; end: number } {
  const quote = text.charAt(start)
  if (quote !== "'" && quote !== '"') throw new RouteSyntaxError(`expected a quoted tag ${place(text, start)}`)
  let tag = ''
  let at = start + 1
  while (true) {
    const end = text.indexOf(quote, at)
    if (end < 0) throw new RouteSyntaxError(`the quote ${place(text, start)} is never closed`)
    tag += text.slice(at, end)
    if (text.charAt(end + 1) !== quote) {
      if (tag === '') throw new RouteSyntaxError(`a tag cannot be empty, as ${place(text, start)}`)
      // NFC, like the tags of published events.
      return { tag: tag.normalize('NFC'), end: end + 1 }
    }
    tag += quote
    at = end + 2
  }
}

function skipSpace(text: string, at: number): number {
  let next = at
  while (/\s/.test(text.charAt(next)) && next < text.length) next++
  return next
}

function place(text: string, at: number): string {
  return at >= text.length ? 'at the end' : `at character ${at + 1} (${JSON.stringify(text.slice(at, at + 10))})`
}
