import assert from 'node:assert/strict'
import type { Reading } from '../../src/store/port/index.ts'
import type { Ledger } from './ledger.ts'

export interface EventKey {
  readonly lamport: number
  readonly stream: string
}

/** An event as a client gets it. */
export interface ReceivedEvent extends EventKey {
  readonly offset: number
  readonly line: string
}

const eventStart = /^\{"type":"event","lamport":(\d+),"stream":"([^"]+)","offset":(\d+),/

/** The event of a line; undefined for a line of another type. Parsing only the start is much faster. */
export function eventOf(line: string): ReceivedEvent | undefined {
  const match = eventStart.exec(line)
  if (match === null) {
    if (line.startsWith('{"type":"event"')) assert.fail(`an event line begins otherwise: ${line.slice(0, 100)}`)
    return undefined
  }
  return { lamport: Number(match[1]), stream: match[2] as string, offset: Number(match[3]), line }
}

/** The new start of a time travel message; undefined for another line. */
export function newStartOf(line: string): EventKey | undefined {
  if (!line.startsWith('{"type":"timeTravel"')) return undefined
  return (JSON.parse(line) as { readonly newStart: EventKey }).newStart
}

/** Calls `onLine` for every line of a reading, until it ends. */
export async function readLines(reading: Reading, onLine: (line: string) => void): Promise<void> {
  let rest = ''
  for await (const piece of reading) {
    const lines = (rest + piece.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
  assert.equal(rest, '', 'a reading ends with a complete line')
}

/** The total order, written down again: the simulator must not rely on what it tests. */
export function compareKeys(a: EventKey, b: EventKey): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport
  const [aNode, aNumber] = a.stream.split('-') as [string, string]
  const [bNode, bNumber] = b.stream.split('-') as [string, string]
  return aNode === bNode ? Number(aNumber) - Number(bNumber) : aNode < bNode ? -1 : 1
}

/** Fails unless an event is the next one of its stream, of those that are not removed. */
export function checkNext({ stream, offset }: ReceivedEvent, expected: number, ledger: Ledger, where: string): void {
  // Messages are only made when they are needed, because there are many events.
  if (offset < expected) assert.fail(`a client of ${where} gets ${stream}/${offset} after ${expected - 1}`)
  for (let skipped = expected; skipped < offset; skipped++)
    if (!ledger.isRemoved(stream, skipped)) assert.fail(`a client of ${where} lacks ${stream}/${skipped}`)
}

const payloadMember = ',"payload":'

/** Fails unless an event of an honest node is as it was published. */
export function checkUnaltered({ stream, offset, lamport, line }: ReceivedEvent, ledger: Ledger, where: string): void {
  if (!ledger.isHonest(stream)) return
  const published = ledger.payloads(stream)[offset]
  if (published === undefined) assert.fail(`${where} has ${stream}/${offset}, which was not published`)
  const end = line.length - 1
  const start = end - published.length
  if (!line.startsWith(published, start) || !line.startsWith(payloadMember, start - payloadMember.length))
    assert.fail(`${where} has another event ${stream}/${offset}`)
  const cause = causeOf(published)
  if (cause !== undefined && lamport <= cause) assert.fail(`on ${where} a reaction sorts before its cause`)
}

/** The payload of a reaction to an event. */
export function reactionTo({ lamport, stream, offset }: ReceivedEvent, by: string): string {
  return JSON.stringify({ reactionTo: lamport, id: `${by} ${stream}/${offset}` })
}

export function isReaction({ line }: ReceivedEvent): boolean {
  return line.includes('"payload":{"reactionTo":')
}

/** The lamport timestamp of the event that a payload reacts to. */
function causeOf(payload: string): number | undefined {
  return payload.startsWith('{"reactionTo":') ? (JSON.parse(payload) as { reactionTo: number }).reactionTo : undefined
}
