/**
 * The `from` of a route: quoted tags joined by `|` and `&`, where `&` binds tighter. A doubled quote inside a quoted tag
 * stands for the quote itself.
 */
export interface TagCondition {
  /** At least one of these groups must be there with all of its tags. */
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
      // Tags are normalised when they are published, so they have to be here.
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
