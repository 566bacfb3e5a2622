import { digitsOf, putDigits } from '../../base/digits.ts'
import type { NodeId } from '../../identity/index.ts'
import type { Appended } from '../../store/index.ts'

const beginning = '{"data":['
const lamportKey = '{"lamport":'

/** A number in the text of a record: its value, and the length and start of its digits. */
interface NumberField {
  readonly value: number
  readonly digits: number
  readonly start: number
}

/**
 * The response to a publish request: lamport timestamp, stream and offset of each event. The records of a run differ in
 * digits only, so the first one is copied and the digits are patched, which leaves no garbage strings.
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
      const sameLength = Math.min(run.count - i, countOfSameLength(lamports), countOfSameLength(offsets))
      writeRecords(json, at, text, [lamports, offsets], sameLength)
      at += sameLength * text.length
      next += sameLength
      i += sameLength
    }
  }
  json.write(']}', at - 1, 'latin1')
  return json.subarray(0, at + 1)
}

/** The number of consecutive values, from this one on, with the same number of digits. */
function countOfSameLength({ value, digits }: NumberField): number {
  return 10 ** digits - value
}

/** Writes a record `count` times, with numbers that increase by one. */
function writeRecords(json: Buffer, at: number, text: string, fields: readonly NumberField[], count: number): void {
  const { length } = text
  json.write(text, at, 'latin1')
  for (let done = 1; done < count; done *= 2)
    json.copyWithin(at + done * length, at, at + Math.min(done, count - done) * length)
  for (const { value, digits, start } of fields)
    for (let i = 1; i < count; i++) putDigits(json, at + i * length + start, digits, value + i)
}
