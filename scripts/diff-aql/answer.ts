import type { Placement } from './placement.ts'

/** The response of a node to a query. */
export interface Answer {
  readonly status: number
  readonly lines: readonly string[]
}

const stream = String.raw`[./0-9A-Za-z]{43}-\d+`
const nowhere = String.raw`"lamport":0,"stream":"\.{43}-0","offset":0,"timestamp":0,"tags":\[\],"appId":"none"`
const place = new RegExp(`(?!${nowhere})"lamport":(\\d+),"stream":"${stream}","offset":(\\d+)(,"timestamp":\\d+)?`, 'g')
const quotedStream = new RegExp(`"${stream}"`, 'g')
const shownPlace = /\d+\/[./0-9A-Za-z]{4}-\d+@[-:.T0-9+]{32}/g
// Section 12.3 does not specify how a timestamp is printed.
const shownTime = /1\(\d+\.\d+\)|\d{4}-\d\d-\d\dT[:0-9]{8}\.\d{6}Z/g
const textOrDecimal = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?e[-+]?\d+|-?\d+\.\d+/gi
const rangeOfTime = /"(?:from|to)Time":\d+,/g
const nodeBytes = /\[(?:\d+,){31}\d+\]/g

/** Normalizes a response: without node IDs, offsets and timestamps, which differ between nodes. */
export function comparable({ status, lines }: Answer, { lamport, offset }: Placement, isGiven: boolean): Answer {
  const placed = (_: string, a: string, b: string, time = ''): string =>
    `"lamport":${Number(a) - lamport},"offset":${Number(b) - offset}${isGiven ? time : ''}`
  const same = (line: string): string =>
    line
      .replaceAll(place, placed)
      .replaceAll(rangeOfTime, (time) => (isGiven ? time : ''))
      .replaceAll(quotedStream, '"<stream>"')
      .replaceAll(shownPlace, '<event>')
      .replaceAll(shownTime, '<time>')
      .replaceAll(nodeBytes, '"<node>"')
      .replaceAll(/([[{])_ /g, '$1')
      // 2e-6 and 0.000002 are the same JSON.
      .replaceAll(textOrDecimal, (found) => (found.startsWith('"') ? found : plainDecimal(found)))
      // Decision 5 says when it is true.
      .replace(/,"caughtUp":(?:true|false)/, '')
  // By decision 18 an error object follows the diagnostic.
  const said = status === 200 ? lines.filter((line) => !line.startsWith('{"code":')) : lines
  return { status, lines: said.map((line) => (!isGiven && isOffsets(line) ? 'offsets' : same(line))) }
}

function plainDecimal(text: string): string {
  return `${text.startsWith('-') ? '-' : ''}${Math.abs(Number(text)).toExponential()}`
}

function isOffsets(line: string): boolean {
  return line.startsWith('{"type":"offsets"')
}

/** Whether two responses are equal, optionally ignoring the order of adjacent diagnostics. */
export function isSame(a: Answer, b: Answer, isOrdered: boolean): boolean {
  if (a.status !== b.status || a.lines.length !== b.lines.length) return false
  const [left, right] = isOrdered
    ? [a.lines, b.lines]
    : [withSortedDiagnostics(a.lines), withSortedDiagnostics(b.lines)]
  return left.every((line, at) => line === right[at])
}

function withSortedDiagnostics(lines: readonly string[]): readonly string[] {
  const sorted: string[] = []
  let together: string[] = []
  for (const line of lines) {
    if (line.startsWith('{"type":"diagnostic"')) together.push(line)
    else {
      sorted.push(...together.sort(), line)
      together = []
    }
  }
  return [...sorted, ...together.sort()]
}
