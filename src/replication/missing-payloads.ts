import { type Frame, MalformedBytes } from '../protocol/index.ts'

/**
 * Throws if a payload is missing at an offset without a redaction record. The chain does not change when a record is
 * rewritten to its redacted form, so without this check any relay could remove any payload from the whole swarm.
 * @param redacted the offsets with a redaction record
 */
export function requireRedactionRecords(frames: readonly Frame[], redacted: readonly number[]): void {
  const recorded = new Set(redacted)
  for (const { first, count, payloads, seed } of frames) {
    // A record with a seed has all payloads.
    if (seed !== undefined) continue
    for (let i = 0; i < count; i++)
      if ((payloads[2 * i] as number) < 0 && !recorded.has(first + i))
        throw new MalformedBytes('a payload is missing without a redaction record')
  }
}
