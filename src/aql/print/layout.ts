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
  return render(group(layout), Number.POSITIVE_INFINITY)
}

/** Lines of at most this width, as far as the breaks allow that. */
export function render(layout: Layout, width: number): string {
  const text: string[] = []
  let column = 0
  const put = (piece: string): void => {
    text.push(piece)
    column = piece.includes('\n') ? piece.length - piece.lastIndexOf('\n') - 1 : column + piece.length
  }
  const write = (part: Layout, margin: number, broken: boolean): void => {
    if (typeof part === 'string') put(part)
    else if (!('kind' in part)) for (const piece of part) write(piece, margin, broken)
    else if (part.kind === 'break') put(broken ? `\n${' '.repeat(margin)}` : part.flat)
    else if (part.kind === 'indent') write(part.content, margin + 2, broken)
    else write(part.content, margin, column + part.width > width)
  }
  write(layout, 0, true)
  return text.join('')
}

function widthOf(layout: Layout): number {
  if (typeof layout === 'string') return layout.length
  if (!('kind' in layout)) return layout.reduce((sum, part) => sum + widthOf(part), 0)
  if (layout.kind === 'indent') return widthOf(layout.content)
  return layout.kind === 'break' ? layout.flat.length : layout.width
}
