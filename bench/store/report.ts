import { median, ratio } from '../start/statistics.ts'

export interface Goal {
  readonly is: 'at least' | 'at most'
  readonly value: number
}

export const atLeast = (value: number): Goal => ({ is: 'at least', value })
export const atMost = (value: number): Goal => ({ is: 'at most', value })

/** One line of the report: a figure, its details, and whether it meets its goal. */
export interface Line {
  readonly name: string
  /** The subject and the baseline, in words and absolute figures. */
  readonly measured: string
  readonly baseline: string
  readonly value: number
  readonly unit: string
  readonly goal: Goal | undefined
  readonly reached: boolean | undefined
}

interface Measured {
  readonly name: string
  readonly goal?: Goal
  /** Milliseconds of each round. */
  readonly ours: readonly number[]
  readonly bare: readonly number[]
  readonly bareName: string
}

/** Speed relative to the baseline, with the same number of operations per round. */
export function speed(line: Measured & { readonly operations: number; readonly unit: string }): Line {
  const { name, goal, ours, bare, bareName, operations, unit } = line
  const perSecond = (list: readonly number[]): string => `${large((1000 * operations) / median(list))} ${unit}/s`
  return figure(name, ratio(bare, ours), '×', goal, perSecond(ours), `${bareName}: ${perSecond(bare)}`)
}

/** Duration relative to the baseline. */
export function duration(line: Measured): Line {
  const { name, goal, ours, bare, bareName } = line
  return figure(name, ratio(ours, bare), '×', goal, millis(median(ours)), `${bareName}: ${millis(median(bare))}`)
}

export function figure(
  name: string,
  value: number,
  unit: string,
  goal: Goal | undefined,
  measured = '',
  baseline = '',
): Line {
  return {
    name,
    measured,
    baseline,
    value,
    unit,
    goal,
    reached: goal === undefined ? undefined : isReached(goal, value),
  }
}

function isReached(goal: Goal, value: number): boolean {
  return goal.is === 'at least' ? value >= goal.value : value <= goal.value
}

export interface Report {
  /** The program or part that was measured. */
  readonly subject: string
  readonly events: number
  readonly node: string
  readonly machine: string
  readonly lines: readonly Line[]
}

export function text(report: Report, json: boolean): string {
  return json ? JSON.stringify(report) : table(report)
}

function table({ subject, events, node, machine, lines }: Report): string {
  const missed = lines.filter(({ reached }) => reached === false).length
  const rows = lines.map(({ name, value, unit, goal, reached, measured, baseline }) => [
    name,
    `${short(value)} ${unit}`,
    goal === undefined ? '' : `${goal.is === 'at least' ? '≥' : '≤'} ${goal.value}`,
    reached === undefined ? '' : reached ? '✔' : '✘',
    measured,
    baseline,
  ])
  return [
    `${subject} with ${large(events)} events, Node ${node}, ${machine}.`,
    'Only the ratios count: the absolute figures change with the machine and with what else it does.',
    '',
    ...aligned(['', 'figure', 'goal', '', 'measured', 'beside it'], rows),
    '',
    missed === 0 ? 'Everything is as good as it has to be.' : `${missed} lines are not as good as they have to be.`,
  ].join('\n')
}

function aligned(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const toTheRight = new Set([1, 2, 4])
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        toTheRight.has(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)]
}

export function millis(ms: number): string {
  return ms < 1 ? `${(1000 * ms).toFixed(0)} µs` : `${short(ms)} ms`
}

export function large(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function short(value: number): string {
  return Math.abs(value) >= 100 ? large(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1)
}
