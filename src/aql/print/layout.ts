import { finish, Pace, type Steps } from '../steps.ts'

/** A text that may be broken into lines at some places. */
export type Layout = string | Break | Indent | Group | readonly Layout[]

/** A place where a line may end; `flat` stands there if it does not. */
interface Break {
  readonly kind: 'break'
  readonly flat: string
}

/** Lines that begin in here begin further to the right. */
interface Indent {
  readonly kind: 'indent'
  readonly content: Layout
}

/** Either all breaks of it end lines, or none does. */
interface Group {
  readonly kind: 'group'
  readonly content: Layout
  /** How long it is in one line. Counted once, or it would be measured again for every group around it. */
  readonly width: number
}

export const space: Break = { kind: 'break', flat: ' ' }
export const nothing: Break = { kind: 'break', flat: '' }

export function group(...content: readonly Layout[]): Group {
  return { kind: 'group', content, width: widthOf(content) }
}

export function indent(...content: readonly Layout[]): Indent {
  return { kind: 'indent', content }
}

export function join(parts: readonly Layout[], separator: Layout): Layout {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]))
}

/** Everything in one line. */
export function flat(layout: Layout): string {
  return finish(flatSteps(layout, new Pace()))
}

/** The same in steps. */
export function flatSteps(layout: Layout, pace: Pace): Steps<string> {
  return rendered({ part: layout, margin: 0, broken: false }, Number.POSITIVE_INFINITY, pace)
}

/** Lines of at most this width, as far as the breaks allow that. */
export function render(layout: Layout, width: number): string {
  return finish(rendered({ part: layout, margin: 0, broken: true }, width, new Pace()))
}

interface Waiting {
  readonly part: Layout
  readonly margin: number
  readonly broken: boolean
}

function* rendered(first: Waiting, width: number, pace: Pace): Steps<string> {
  const text: string[] = []
  let column = 0
  // A list of what is still to be written and not a recursion: layouts are much deeper than the trees they show.
  const waiting = [first]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { part, margin, broken } = next
    if (pace.isDue()) yield
    if (typeof part === 'string') {
      text.push(part)
      column = columnAfter(part, column)
    } else if (!('kind' in part)) for (const piece of part.toReversed()) waiting.push({ part: piece, margin, broken })
    else if (part.kind === 'break') {
      waiting.push({ part: broken ? `\n${' '.repeat(margin)}` : part.flat, margin, broken })
    } else if (part.kind === 'indent') waiting.push({ part: part.content, margin: margin + 2, broken })
    else waiting.push({ part: part.content, margin, broken: column + part.width > width })
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
