import { ByteWriter, encodeLabels, type Frame, FrameBuilder, type Hash, hashAfter } from '../../src/protocol/index.ts'
import type { NaiveEvent } from '../protocol/naive.ts'

/** Labels and payloads of events in one buffer, with their spans. */
export function packed(events: readonly { appId: string; tags: readonly string[]; payload: string }[]): {
  source: Buffer
  spans: Int32Array
} {
  const parts: Buffer[] = []
  const spans = new Int32Array(4 * events.length)
  let at = 0
  for (const [i, { appId, tags, payload }] of events.entries()) {
    for (const [j, part] of [encodeLabels(appId, tags), Buffer.from(payload)].entries()) {
      spans[4 * i + 2 * j] = at
      at += part.length
      spans[4 * i + 2 * j + 1] = at
      parts.push(part)
    }
  }
  return { source: Buffer.concat(parts), spans }
}

export function frameOf(
  previous: Hash,
  first: number,
  events: readonly NaiveEvent[],
  seed: Uint8Array,
): { record: Buffer; hash: Hash } {
  const builder = new FrameBuilder()
  const { source, spans } = packed(events)
  for (const [i, { lamport, time }] of events.entries()) builder.add(lamport, time, source, spans, 4 * i)
  const record = new ByteWriter()
  const hash = hashAfter(builder.finish(first, seed, record), previous)
  return { record: record.written, hash }
}

/** The payloads of a frame; a redacted one is null. */
export function payloadsOf({ payloads, bytes, count }: Frame): (string | null)[] {
  return Array.from({ length: count }, (_, i) => {
    const start = payloads[2 * i] ?? -1
    return start < 0 ? null : bytes.toString('utf8', start, payloads[2 * i + 1])
  })
}
