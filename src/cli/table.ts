/** A table with box drawing, as wide as its content. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (left: string, middle: string, right: string): string =>
    `${left}${widths.map((width) => '─'.repeat(width + 2)).join(middle)}${right}`
  const cells = (row: readonly string[]): string =>
    `│${widths.map((width, i) => ` ${(row[i] ?? '').padEnd(width)} `).join('│')}│`
  return [line('┌', '┬', '┐'), cells(head), line('├', '┼', '┤'), ...rows.map(cells), line('└', '┴', '┘')].join('\n')
}
