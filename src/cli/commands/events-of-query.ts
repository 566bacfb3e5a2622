import { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { endingError } from '../client/ending-error.ts'
import { asInvalidInput } from '../client/invalid-input.ts'
import type { NodeClient } from '../client/node-client.ts'
import { readLines } from '../client/response-body.ts'
import { EventSet } from '../event-references.ts'
import { eventText } from '../output/event-line.ts'
import { write } from '../output/output.ts'

/** The events that a query has selected. */
export interface SelectedEvents {
  readonly events: EventSet
  /** The first of them as text. */
  readonly first: readonly string[]
}

/** Number of events that a preview shows. */
const shownEvents = 10
/** Length at which the text of an event is cut in a preview. */
const shownCharacters = 160

interface Line {
  readonly type?: string
  readonly stream: string
  readonly offset: number
  readonly timestamp: number
  readonly appId: string
  readonly fromKey?: unknown
}

/** Runs a query whose results are events, and returns which ones. */
export async function eventsOfQuery(node: NodeClient, query: string): Promise<SelectedEvents> {
  const events = new EventSet()
  const first: string[] = []
  const body = { query, order: 'asc' }
  const response = await asInvalidInput(node.stream({ method: 'POST', path: '/events/query', body, isLong: true }))
  for await (const text of readLines(response, limits.answerLineBytes)) {
    if (text === '') continue
    const failed = endingError(text)
    if (failed !== undefined) throw failed
    const line = JSON.parse(text) as Line
    if (line.type === 'diagnostic') await write(process.stderr, eventText(text) ?? '')
    if (line.type !== 'event') continue
    if (line.fromKey !== undefined || (line.appId === 'none' && line.timestamp === 0))
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        'The query computes results that are no events. Allowed: a query without AGGREGATE, such as `FROM …` with FILTER.',
      )
    const before = events.size
    events.add(line.stream, line.offset)
    if (events.size > before && first.length < shownEvents) first.push(shownText(line, eventText(text) ?? ''))
  }
  return { events, first }
}

function shownText({ stream, offset }: Line, text: string): string {
  return `${stream}/${offset}  ${text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text}`
}
