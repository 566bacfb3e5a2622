import { median } from '../start/statistics.ts'
import { goalText, isMet, type Rounds, valuesOf } from './goals.ts'
import { type Check, type Figures, isLessBetter } from './profile.ts'

export interface Measured {
  readonly ours: readonly Figures[]
  /** The other nodes with the figures of their rounds. Goals are relative to the first. */
  readonly others: readonly { readonly name: string; readonly rounds: readonly Figures[] }[]
  readonly emptyStore: Figures
  readonly goals: Readonly<Record<string, readonly Check[]>>
}

/**
 * A line per figure: its median, and the median and the worst of the ratios of all rounds. Both nodes of a ratio are
 * measured in the same round, because the speed of the machine varies between rounds.
 */
export function table({ ours, others, emptyStore, goals }: Measured): string {
  const rounds: Rounds = { ours, reference: others[0]?.rounds, emptyStore }
  const figures = Object.keys(ours[0] ?? {}).filter((name) => !/^(events|query_.*_events)$/.test(name))
  let missed = 0
  const rows = figures.map((figure) => {
    const checks = goals[figure] ?? []
    const marks = checks.map((check) => isMet(check, figure, rounds))
    if (marks.includes(false)) missed++
    return [
      `${figure} ${isLessBetter(figure) ? '↓' : '↑'}`,
      number(median(valuesOf(ours, figure))),
      ...others.flatMap((other) => ratioCells(figure, ours, other.rounds)),
      checks.map((check) => goalText(check, figure, emptyStore)).join(', '),
      marks.includes(false) ? '✘' : marks.length === 0 || marks.includes(undefined) ? '' : '✔',
    ]
  })
  const head = ['', 'shoal', ...others.flatMap(({ name }) => [name, 'ratio', 'worst']), 'goal', '']
  return [...aligned(head, rows), '', missed === 0 ? 'No goal is missed.' : `Goals missed (✘): ${missed}.`].join('\n')
}

function ratioCells(figure: string, ours: readonly Figures[], theirs: readonly Figures[]): string[] {
  const other = valuesOf(theirs, figure)
  const ratios = valuesOf(ours, figure).map((value, round) => value / (other[round] ?? Number.NaN))
  const worst = isLessBetter(figure) ? Math.max(...ratios) : Math.min(...ratios)
  return [number(median(other)), times(median(ratios)), times(worst)]
}

const refused = '–'

function number(value: number): string {
  return Number.isNaN(value)
    ? refused
    : value >= 1000
      ? Math.round(value).toLocaleString('en')
      : String(+value.toFixed(2))
}

function times(ratio: number): string {
  return Number.isNaN(ratio) ? refused : `${ratio.toFixed(2)} ×`
}

function aligned(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const isText = (column: number): boolean => column === 0 || column >= head.length - 2
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  return [head, ...rows].map(line)
}
