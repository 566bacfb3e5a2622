import { digitsOf, putDigits } from '../../base/digits.ts'
import type { NodeId } from '../../identity/index.ts'
import type { Appended } from '../../store/index.ts'

const beginning = '{"data":['
const lamportKey = '{"lamport":'

/** A number within the text of a record, how many digits it has, and where they begin there. */
interface Place {
  readonly value: number
  readonly digits: number
  readonly start: number
}

/**
 * The answer to a publish call: for each event, in the order of the call, what it got. Most of it is the same for all of them,
 * so the first record is copied, and the digits are changed that are others: texts for each would be much to collect.
 */
export function publishedJson(node: NodeId, { lamport, time, runs }: Appended): string | Buffer<ArrayBuffer> {
  const count = runs.reduce((sum, run) => sum + run.count, 0)
  const end = `,"timestamp":${time}},`
  const middleOf = (stream: number): string => `,"stream":"${node}-${stream}","offset":`
  const [first] = runs
  if (first === undefined || count === 0) return `${beginning}]}`
  if (count === 1 && runs.length === 1)
    return `${beginning}${lamportKey}${lamport}${middleOf(first.stream)}${first.offset}${end.slice(0, -1)}]}`
  const longest = (middle: string, offset: number): number =>
    `${lamportKey}${lamport + count}${middle}${offset}${end}`.length
  const room = runs.reduce((sum, run) => sum + run.count * longest(middleOf(run.stream), run.offset + run.count), 0)
  const json = Buffer.allocUnsafe(beginning.length + room + 1)
  let at = json.write(beginning, 'latin1')
  let next = lamport
  for (const run of runs) {
    const middle = middleOf(run.stream)
    for (let i = 0; i < run.count; ) {
      const offset = run.offset + i
      const text = `${lamportKey}${next}${middle}${offset}${end}`
      const lamports = { value: next, digits: digitsOf(next, 1), start: lamportKey.length }
      const offsetDigits = digitsOf(offset, 1)
      const offsets = { value: offset, digits: offsetDigits, start: text.length - end.length - offsetDigits }
      const alike = Math.min(run.count - i, leftOfDigits(lamports), leftOfDigits(offsets))
      writeRecords(json, at, text, [lamports, offsets], alike)
      at += alike * text.length
      next += alike
      i += alike
    }
  }
  json.write(']}', at - 1, 'latin1')
  return json.subarray(0, at + 1)
}

/** How many numbers from this one on have as many digits. */
function leftOfDigits({ value, digits }: Place): number {
  return 10 ** digits - value
}

/** Writes a record so often, with numbers that rise by one. */
function writeRecords(json: Buffer, at: number, text: string, places: readonly Place[], count: number): void {
  const { length } = text
  json.write(text, at, 'latin1')
  for (let done = 1; done < count; done *= 2)
    json.copyWithin(at + done * length, at, at + Math.min(done, count - done) * length)
  for (const { value, digits, start } of places)
    for (let i = 1; i < count; i++) putDigits(json, at + i * length + start, digits, value + i)
}
