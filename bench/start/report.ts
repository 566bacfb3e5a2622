import type { Breakdown, Parts } from './breakdown.ts'
import type { Summary } from './statistics.ts'

/** One program with its measurements. Ratios are relative to the bare server of the same round. */
export interface Row {
  readonly name: string
  readonly readyMs: Summary & { readonly ratio: number }
  readonly rssMb: Summary & { readonly ratio: number }
  readonly anonymousMb: Summary
}

export interface Report {
  readonly rounds: number
  readonly node: string
  readonly machine: string
  readonly rows: readonly Row[]
  readonly breakdown: { readonly bare: Breakdown; readonly first: Breakdown; readonly second: Breakdown }
}

export function text(report: Report, json: boolean): string {
  return json
    ? JSON.stringify(report, (_, value: unknown) => (value instanceof Map ? jsonParts(value) : value))
    : tables(report)
}

function jsonParts(parts: ReadonlyMap<unknown, unknown>): unknown {
  return Object.fromEntries([...parts].map(([name, ms]) => [String(name), ms]))
}

function tables({ rounds, node, machine, rows, breakdown }: Report): string {
  const { bare, first, second } = breakdown
  return [
    `Start of shoal: ${rounds} rounds, Node ${node}, ${machine}.`,
    'Only the ratios to bare node count: the absolute figures change with the machine and with what else it does.',
    '',
    ...table(
      ['', 'exec → ready ms', 'min..max', '× bare', 'RSS MB', '× bare', 'of it anonymous'],
      rows.map(({ name, readyMs, rssMb, anonymousMb }) => [
        name,
        fixed(readyMs.p50),
        `${fixed(readyMs.min)}..${fixed(readyMs.max)}`,
        fixed(readyMs.ratio, 2),
        fixed(rssMb.p50),
        fixed(rssMb.ratio, 2),
        fixed(anonymousMb.p50),
      ]),
    ),
    '',
    'Where the time goes, in ms: medians of starts of their own, with a preload that makes them a little slower.',
    `Of the second start ${share(second.modules, second)} is loading modules and running them for the first time.`,
    '',
    ...partsTable('bare node', [bare.phases], ['ms']),
    '',
    ...partsTable('shoal', [first.phases, second.phases], ['first start', 'second start']),
    '',
    ...partsTable('of it, loading', [first.modules, second.modules], ['first start', 'second start']),
    '',
    ...partsTable('of it, the data folder', [first.calls, second.calls].map(worthALine), [
      'first start',
      'second start',
    ]),
  ].join('\n')
}

function partsTable(title: string, columns: readonly Parts[], heads: readonly string[]): string[] {
  const names = [...new Set(columns.flatMap((parts) => [...parts.keys()]))].sort(restLast)
  return table(
    [title, ...heads],
    [
      ...names.map((name) => [shortened(name), ...columns.map((parts) => fixed(parts.get(name) ?? Number.NaN))]),
      ['together', ...columns.map((parts) => fixed(sum(parts)))],
    ],
  )
}

function share(parts: Parts, { phases }: Breakdown): string {
  return `${((100 * sum(parts)) / sum(phases)).toFixed(0)} %`
}

const rest = 'the rest'

function restLast(a: string, b: string): number {
  return Number(a === rest) - Number(b === rest)
}

function sum(parts: Parts): number {
  return [...parts.values()].reduce((total, ms) => total + ms, 0)
}

function worthALine(parts: Parts): Parts {
  const large = new Map([...parts].filter(([, ms]) => ms >= 0.1))
  return new Map([...large, [rest, sum(parts) - sum(large)]])
}

function shortened(name: string): string {
  return name.length > 58 ? `${name.slice(0, 57)}…` : name
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)]
}

/** A missing measurement is printed as a dash. */
function fixed(value: number, digits = 1): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits)
}
