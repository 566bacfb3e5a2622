import { assert } from '../base/assert.ts'
import { JsonError, JsonScanner } from '../json/json-scanner.ts'
import { MalformedBytes } from './bytes.ts'
import type { Frame } from './frame.ts'
import { isText } from './text.ts'

/**
 * Validates the payloads of frames from a peer, which share one buffer, by the rule for published ones: each is what the
 * scanner of a publish request would copy unchanged. Their sizes are checked when a frame is parsed.
 */
export function checkPayloads(frames: readonly Frame[]): void {
  const [first] = frames
  if (first === undefined) return
  const scanner = new JsonScanner(first.bytes, Number.POSITIVE_INFINITY, 'checked')
  for (const frame of frames) {
    assert(frame.bytes === first.bytes, 'the frames of a chunk share one buffer')
    checkUtf8(frame)
    for (let i = 0; i < frame.count; i++) {
      const start = frame.payloads[2 * i] as number
      if (start >= 0) checkJson(scanner, start, frame.payloads[2 * i + 1] as number)
    }
  }
}

/** One check for all payloads of a frame suffices: JSON begins and ends with ASCII, so no character spans two of them. */
function checkUtf8({ bytes, view, count, payloads, record: [, end] }: Frame): void {
  let first = 0
  while (first < count && (payloads[2 * first] as number) < 0) first++
  if (first < count && !isText(bytes, view, payloads[2 * first] as number, end))
    throw new MalformedBytes('a payload is not UTF-8')
}

function checkJson(scanner: JsonScanner, start: number, end: number): void {
  try {
    scanner.compactValue(start, end)
  } catch (error) {
    if (error instanceof JsonError) throw new MalformedBytes(`an invalid payload: ${error.message}`)
    throw error
  }
}
