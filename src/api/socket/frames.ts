import { tuning } from '../../base/tuning.ts'

const [newline, comma] = [0x0a, 0x2c]
const tail = Buffer.from(']}')

/** Splits NDJSON into WebSocket messages, each with the maximum number of lines. Overwrites newlines in `lines`. */
export function* framesOf(requestId: string, lines: Buffer): Generator<Buffer> {
  const head = Buffer.from(`{"type":"next","requestId":${requestId},"payload":[`)
  let start = 0
  while (start < lines.length) {
    let end = lines.indexOf(newline, start)
    for (let count = 1; count < tuning.messagesPerFrame; count++) {
      const next = lines.indexOf(newline, end + 1)
      if (next < 0) break
      lines[end] = comma
      end = next
    }
    yield Buffer.concat([head, lines.subarray(start, end), tail])
    start = end + 1
  }
}

/** A message with one item, given as JSON. */
export function frameOf(requestId: string, item: string): string {
  return `{"type":"next","requestId":${requestId},"payload":[${item}]}`
}
