import { assert } from '../base/assert.ts'
import { format } from '../base/format.ts'
import { ByteReader, MalformedBytes } from './bytes.ts'
import type { Frame } from './frame.ts'
import { checkLabels, skipBoundedLabels } from './labels.ts'
import { checkPayloads } from './payload.ts'
import { parseFrame } from './read-frame.ts'

/** Parses and validates an untrusted record from a peer. Only its place in the hash chain is not checked. */
export function checkFrame(reader: ByteReader): Frame {
  const frame = checkStructure(reader, format.eventsPerFrame)
  checkContents([frame])
  return frame
}

/**
 * Parses an untrusted record of at most `maxEvents` events and checks its structure: counts, lengths, and the order of
 * lamport timestamps. It is cheap, as it looks neither into labels nor into payloads.
 */
export function checkStructure(reader: ByteReader, maxEvents: number): Frame {
  const frame = parseFrame(reader, skipBoundedLabels, { maxEvents })
  let before = -1
  for (const lamport of frame.lamports) {
    if (lamport <= before) throw new MalformedBytes('the lamport timestamps of a frame are not ascending')
    before = lamport
  }
  return frame
}

/** Validates the labels and payloads of untrusted frames of one buffer whose structure is valid. */
export function checkContents(frames: readonly Frame[]): void {
  const [first] = frames
  if (first === undefined) return
  const reader = new ByteReader(first.bytes)
  for (const { bytes, count, labels } of frames) {
    assert(bytes === first.bytes, 'the frames of a chunk share one buffer')
    for (let i = 0; i < count; i++) {
      reader.at = labels[2 * i] as number
      checkLabels(reader)
    }
  }
  checkPayloads(frames)
}
