import { formatStreamId, nodeIdOf } from '../../../src/identity/index.ts'
import { type Result, type Results, reportOfStart } from './queries.ts'
import { ownKey } from './small-store.ts'
import { nameOf, reportsDamage, type Verdict, wrong } from './verdict.ts'

/** Whether the start has reported that streams of other nodes were cut back. */
export function isCut(found: Results): boolean {
  return isReportOfCut(textOf(found.get(reportOfStart)))
}

export function isReportOfCut(report: string): boolean {
  return /node was damaged\. The stream was cut back|of another node, was damaged and could not|redactions of other nodes/.test(
    report,
  )
}

function textOf(result: Result | undefined): string {
  return result?.bytes.toString('latin1') ?? ''
}

interface Status {
  readonly number: number
  readonly own: boolean
  readonly count: number
}

/**
 * Compares the results of a store whose streams of other nodes were cut back: everything of own streams is as expected,
 * and of the others exactly the events before the cut are there.
 */
export function judgeCut(expected: Results, found: Results): Verdict {
  for (const [query, { bytes }] of expected) {
    const result = found.get(query)
    if (result === undefined) return wrong(query, 'no result')
    if (result.error !== undefined && !reportsDamage(result.error)) return wrong(query, nameOf(result.error))
    if (result.error === undefined && !isLeftByCut(query, bytes, result.bytes, expected, found))
      return wrong(query, 'is not what is left by a cut')
  }
  return { outcome: 'cut', why: textOf(found.get(reportOfStart)) }
}

function isLeftByCut(query: string, before: Buffer, after: Buffer, expected: Results, found: Results): boolean {
  const own = (results: Results): Status[] => statusOf(results).filter((one) => one.own)
  if (query === 'streams') return JSON.stringify(own(expected)) === JSON.stringify(own(found))
  const stream = /^(?:head|checkpoints|chunk) of (\d+)/.exec(query)?.[1]
  const isOwn = own(expected).some(({ number }) => number === Number(stream))
  if (query === 'append' || isOwn) return before.equals(after)
  if (!before.includes('"type":"event"')) return true
  // Without a damaged redaction, the payload is stored until the record is received again.
  if (query === 'everything, after that' && textOf(found.get(reportOfStart)).includes('redactions of other nodes'))
    return ownLines(before) === ownLines(after)
  return isCutLike(before, after)
}

function statusOf(results: Results): Status[] {
  return JSON.parse(textOf(results.get('streams')) || '[]') as Status[]
}

const ownNode = nodeIdOf(ownKey.publicKey)
const ownStreamPrefix = formatStreamId({ node: ownNode, number: 0n }).slice(0, -1)

/** Whether lines lack only events at the ends of streams of other nodes. */
export function isCutLike(expected: Buffer, found: Buffer, own = ownStreamPrefix): boolean {
  const left = linesIn(found)
  const ends = new Map<string, number>()
  for (const { stream, offset } of left) ends.set(stream, Math.max(ends.get(stream) ?? -1, offset))
  const rest = linesIn(expected).filter(
    ({ stream, offset }) => stream.startsWith(own) || offset <= (ends.get(stream) ?? -1),
  )
  return rest.length === left.length && rest.every(({ text }, i) => text === left[i]?.text)
}

function ownLines(bytes: Buffer): string {
  const lines = linesIn(bytes).filter(({ stream }) => stream.startsWith(ownStreamPrefix))
  return lines.map(({ text }) => text).join('')
}

function linesIn(bytes: Buffer): Line[] {
  const texts = bytes.toString('utf8').match(/.*\n/g) ?? []
  return texts.map((text) => ({ ...(JSON.parse(text) as Omit<Line, 'text'>), text }))
}

interface Line {
  readonly stream: string
  readonly offset: number
  readonly text: string
}
