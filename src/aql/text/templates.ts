import type { Expr, Template } from '../ast.ts'
import type { Nested } from '../steps.ts'
import { TagRules } from './tags.ts'

/**
 * Grammar rules of templates (string interpolation). A template may be tried as a tag and then again as a value, so the
 * result is memoised by position.
 */
export abstract class TemplateRules extends TagRules {
  readonly #templates = new Map<number, { readonly parts: Template; readonly end: number } | undefined>()

  protected abstract exprSteps(): Nested<Expr | undefined>

  protected *template(): Nested<Template | undefined> {
    const { reader } = this
    const start = reader.at
    if (!this.isTemplate()) return undefined
    if (!this.#templates.has(start)) {
      const parts = yield* this.#parts()
      if (parts === undefined) reader.at = start
      this.#templates.set(start, parts && { parts, end: reader.at })
      return parts
    }
    const known = this.#templates.get(start)
    if (known !== undefined) reader.at = known.end
    return known?.parts
  }

  *#parts(): Nested<Template | undefined> {
    const { reader } = this
    const parts: (string | Expr)[] = []
    let literal = ''
    reader.literal('`')
    while (true) {
      const end = literalEnd(reader.text, reader.at)
      literal += reader.text.slice(reader.at, end)
      reader.advance(end)
      if (reader.token('`')) break
      if (!reader.literal('{')) return undefined
      const part = this.#character() ?? (yield* this.exprSteps())
      if (part === undefined || !reader.literal('}')) return undefined
      // A string literal in braces is how a brace or backtick is escaped, so it merges with the surrounding text.
      if (typeof part === 'string') literal += part
      else if (part.kind === 'string') literal += part.value
      else {
        if (literal !== '') parts.push(literal)
        literal = ''
        parts.push(part)
      }
      if (reader.isDue()) yield undefined
    }
    if (literal !== '') parts.push(literal)
    return parts
  }

  /** A Unicode escape like `{U+1f41f}`. */
  #character(): string | undefined {
    const position = this.reader.at
    const written = this.reader.match('unicode', /U\+[0-9A-Fa-f]{1,6}/y)
    if (written === undefined) return undefined
    const code = Number.parseInt(written.slice(2), 16)
    if (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) return String.fromCodePoint(code)
    this.note(position, `invalid unicode scalar value \`${written}\``)
    return ''
  }
}

/** The end of the literal text of a template. */
function literalEnd(text: string, start: number): number {
  let at = start
  while (at < text.length && text[at] !== '`' && text[at] !== '{') at++
  return at
}
