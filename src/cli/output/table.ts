import { escapeLine } from '../../base/control-characters.ts'

/** A table with box drawing, as wide as its content. A line break in a cell is escaped: it could forge a row. */
export function table(head: readonly string[], content: readonly (readonly string[])[]): string {
  const rows = content.map((row) => row.map(escapeLine))
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (left: string, middle: string, right: string): string =>
    `${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}`
  const cells = (row: readonly string[]): string =>
    `│${widths.map((width, i) => ` ${(row[i] ?? '').padEnd(width)} `).join('│')}│`
  return [line('┌', '┬', '┐'), cells(head), line('├', '┼', '┤'), ...rows.map(cells), line('└', '┴', '┘')].join('\n')
}
