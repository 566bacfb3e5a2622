import type { NodeId } from '../../identity/index.ts'
import type { Appended } from '../../store/index.ts'

const beginning = '{"data":['
const zero = 0x30

/** A number within the text of a record, and where it ends there. */
interface Place {
  readonly value: number
  readonly end: number
}

/**
 * The answer to a publish call: for each event, in the order of the call, what it got. Most of it is the same for all of them,
 * so the first record is copied, and the digits are changed that are others: texts for each would be much to collect.
 */
export function publishedJson(node: NodeId, { lamport, time, runs }: Appended): Buffer<ArrayBuffer> {
  const count = runs.reduce((sum, run) => sum + run.count, 0)
  if (count === 0) return Buffer.from(`${beginning}]}`)
  const end = `,"timestamp":${time}},`
  const middleOf = (stream: number): string => `,"stream":"${node}-${stream}","offset":`
  const longest = (middle: string, offset: number): number =>
    `{"lamport":${lamport + count}${middle}${offset}${end}`.length
  const room = runs.reduce((sum, run) => sum + run.count * longest(middleOf(run.stream), run.offset + run.count), 0)
  const json = Buffer.allocUnsafe(beginning.length + room + 1)
  let at = json.write(beginning, 'latin1')
  let next = lamport
  for (const run of runs) {
    const middle = middleOf(run.stream)
    for (let i = 0; i < run.count; ) {
      const offset = run.offset + i
      const start = `{"lamport":${next}`
      const text = `${start}${middle}${offset}${end}`
      const alike = Math.min(run.count - i, leftOfDigits(next), leftOfDigits(offset))
      const places = [
        { value: next, end: start.length },
        { value: offset, end: text.length - end.length },
      ]
      writeRecords(json, at, text, places, alike)
      at += alike * text.length
      next += alike
      i += alike
    }
  }
  json.write(']}', at - 1, 'latin1')
  return json.subarray(0, at + 1)
}

/** How many numbers from this one on have as many digits. */
function leftOfDigits(value: number): number {
  return 10 ** String(value).length - value
}

/** Writes a record so often, with numbers that rise by one. */
function writeRecords(json: Buffer, at: number, text: string, places: readonly Place[], count: number): void {
  const { length } = text
  json.write(text, at, 'latin1')
  for (let done = 1; done < count; done *= 2)
    json.copyWithin(at + done * length, at, at + Math.min(done, count - done) * length)
  for (const { value, end } of places)
    for (let i = 1; i < count; i++) overwrite(json, at + i * length + end, value, value + i)
}

/**
 * Writes a number over one with as many digits, which ends there. Their first digits are often the same. Below 31 bits the
 * digits are cut off by whole numbers, which is much faster.
 */
function overwrite(json: Buffer, end: number, before: number, after: number): void {
  let old = before
  let rest = after
  let at = end - 1
  for (; rest !== old && rest > 0x7fffffff; at--) {
    json[at] = zero + (rest % 10)
    rest = Math.floor(rest / 10)
    old = Math.floor(old / 10)
  }
  for (; rest !== old; at--) {
    json[at] = zero + (rest % 10)
    rest = (rest / 10) | 0
    old = (old / 10) | 0
  }
}
