import { Pace, runToEnd, type Steps } from '../steps.ts'

/** A document of the pretty-printer: text with optional line breaks. */
export type Layout = string | Break | Indent | Group | readonly Layout[]

/** An optional line break; printed as `flat` when the enclosing group fits on the line. */
interface Break {
  readonly kind: 'break'
  readonly flat: string
}

/** Increases the indentation of its lines. */
interface Indent {
  readonly kind: 'indent'
  readonly content: Layout
}

/** Its breaks are all taken or all flat. */
interface Group {
  readonly kind: 'group'
  readonly content: Layout
  /** Width on one line. Computed once, because every enclosing group needs it. */
  readonly width: number
}

/** A line break, or a space when flat. */
export const line: Break = { kind: 'break', flat: ' ' }
/** A line break, or nothing when flat. */
export const softline: Break = { kind: 'break', flat: '' }

export function group(...content: readonly Layout[]): Group {
  return { kind: 'group', content, width: widthOf(content) }
}

export function indent(...content: readonly Layout[]): Indent {
  return { kind: 'indent', content }
}

export function join(parts: readonly Layout[], separator: Layout): Layout {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]))
}

/** Renders on one line. */
export function flat(layout: Layout): string {
  return runToEnd(flatSteps(layout, new Pace()))
}

/** Cooperative variant: yields between units of work. */
export function flatSteps(layout: Layout, pace: Pace): Steps<string> {
  return rendered({ part: layout, margin: 0, broken: false }, Number.POSITIVE_INFINITY, pace)
}

/** Renders with lines of at most this width, as far as the breaks allow it. */
export function render(layout: Layout, width: number): string {
  return runToEnd(rendered({ part: layout, margin: 0, broken: true }, width, new Pace()))
}

interface Pending {
  readonly part: Layout
  readonly margin: number
  readonly broken: boolean
}

function* rendered(first: Pending, width: number, pace: Pace): Steps<string> {
  const text: string[] = []
  let column = 0
  // An explicit stack instead of recursion: layouts are much deeper than the AST.
  const pending = [first]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { part, margin, broken } = next
    if (pace.isDue()) yield
    if (typeof part === 'string') {
      text.push(part)
      column = columnAfter(part, column)
    } else if (!('kind' in part)) for (const piece of part.toReversed()) pending.push({ part: piece, margin, broken })
    else if (part.kind === 'break') {
      pending.push({ part: broken ? `\n${' '.repeat(margin)}` : part.flat, margin, broken })
    } else if (part.kind === 'indent') pending.push({ part: part.content, margin: margin + 2, broken })
    else pending.push({ part: part.content, margin, broken: column + part.width > width })
  }
  return text.join('')
}

function columnAfter(text: string, column: number): number {
  return text.includes('\n') ? text.length - text.lastIndexOf('\n') - 1 : column + text.length
}

function widthOf(layout: Layout): number {
  if (typeof layout === 'string') return layout.length
  if (!('kind' in layout)) return layout.reduce((sum, part) => sum + widthOf(part), 0)
  if (layout.kind === 'indent') return widthOf(layout.content)
  return layout.kind === 'break' ? layout.flat.length : layout.width
}
