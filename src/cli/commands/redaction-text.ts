import type { Redacted } from '../../events/index.ts'
import { type EventRange, type EventSet, rangesOf, rangeText } from '../event-references.ts'
import type { Result } from '../output/output.ts'

/** Another node, with those events to redact that only it can redact. */
export interface OtherNode {
  readonly nodeId: string
  readonly displayName: string | undefined
  readonly events: EventSet
}

/** Number of ranges of events that a line names. */
const shownRanges = 10

/** What a query has selected, before it is redacted. */
export function previewText(
  events: number,
  first: readonly string[],
  own: number,
  others: readonly OtherNode[],
): string {
  const rest = events > first.length ? [`  and ${events - first.length} more`] : []
  const lines = [
    `The query selects ${counted(events)}:`,
    ...first.map((text) => `  ${text}`),
    ...rest,
    `This node can redact ${own} of them.`,
  ]
  return [...lines, ...others.map(refusedLine)].join('\n')
}

/** Why nothing can be redacted here. */
export function refusalText(others: readonly OtherNode[]): string {
  return ['Only the node that has published an event can redact it.', ...others.map(refusedLine)].join('\n')
}

function refusedLine({ nodeId, displayName, events }: OtherNode): string {
  const name = displayName === undefined ? nodeId : `${nodeId} (${displayName})`
  const named = namedEvents(events.streams.flatMap((stream) => rangesOf(stream, events.of(stream))))
  return `Not redacted, ${counted(events.size)} of the node ${name}: ${named}. Type the command with the address of that node.`
}

type State = keyof Redacted

/** The text of each outcome but `redacted`, which has a line of its own. */
const meanings: Readonly<Record<Exclude<State, 'redacted'>, (count: string) => string>> = {
  alreadyRedacted: (count) => `Redacted before, ${count}`,
  pruned: (count) => `Removed by retention before, ${count}`,
  unknown: (count) => `Not found, ${count}`,
  facts: (count) => `Not redacted, ${count} that the node needs: names of streams, names of files, and uploads`,
}

/** What was redacted, and what was not. */
export class RedactionReport implements Result {
  readonly #others: readonly OtherNode[]
  readonly #ranges: Readonly<Record<State, EventRange[]>> = {
    redacted: [],
    alreadyRedacted: [],
    pruned: [],
    unknown: [],
    facts: [],
  }

  constructor(others: readonly OtherNode[]) {
    this.#others = others
  }

  /** Adds the answer to a request. */
  add(stream: string, done: Redacted): void {
    for (const state of Object.keys(this.#ranges) as State[]) this.#ranges[state].push(...rangesOf(stream, done[state]))
  }

  /** Whether some events were not redacted: those of other nodes, unknown ones and facts. */
  get failed(): boolean {
    return this.#others.length > 0 || this.#ranges.unknown.length > 0 || this.#ranges.facts.length > 0
  }

  get json(): object {
    const states = Object.keys(this.#ranges) as State[]
    const counts = states.map((state) => [state, countOf(this.#ranges[state])])
    const events = states.flatMap((state) => this.#ranges[state].map((range) => ({ ...range, state })))
    const refused = this.#others.flatMap(({ nodeId, displayName, events: theirs }) =>
      theirs.streams
        .flatMap((stream) => rangesOf(stream, theirs.of(stream)))
        .map((range) => ({ ...range, state: 'refused', nodeId, ...(displayName !== undefined && { displayName }) })),
    )
    return { ...Object.fromEntries(counts), refused: countOf(refused), events: [...events, ...refused] }
  }

  text(): string {
    const redacted = countOf(this.#ranges.redacted)
    const hint = redacted === 0 ? '' : ' Other nodes remove the payloads when they are connected.'
    const others = Object.entries(meanings).flatMap(([state, meaning]) => {
      const ranges = this.#ranges[state as State]
      return ranges.length === 0 ? [] : [`${meaning(counted(countOf(ranges)))}: ${namedEvents(ranges)}.`]
    })
    return [`Redacted ${counted(redacted)}.${hint}`, ...others, ...this.#others.map(refusedLine)].join('\n')
  }
}

function namedEvents(ranges: readonly EventRange[]): string {
  const shown = ranges.slice(0, shownRanges).map(rangeText).join(', ')
  return ranges.length > shownRanges ? `${shown}, and ${countOf(ranges.slice(shownRanges))} more` : shown
}

function countOf(ranges: readonly EventRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0)
}

function counted(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}
