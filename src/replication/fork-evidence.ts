import { format } from '../base/format.ts'
import {
  ByteReader,
  ByteWriter,
  checkFrame,
  type Frame,
  genesis,
  type Hash,
  type Head,
  hashAfter,
  heads,
  MalformedBytes,
  type StreamKey,
  withoutAllPayloads,
} from '../protocol/index.ts'
import { isSameStream, type TopicContext } from './streams.ts'

const domain = Buffer.from('shoal/fork/1\0', 'latin1')

/** Maximum size: the frames of two chunks, and three heads. */
const maxBytes = 2 * format.chunkBytes
const maxFrames = 2 * format.eventsPerChunk

/** One of the two histories: a signed head, and the frames that lead to it from the last common checkpoint. */
export interface Branch {
  readonly signedHead: Uint8Array
  readonly frames: readonly Frame[]
}

/** Verified evidence: two signed heads of one stream that no single chain can contain. */
export interface ForkEvidence {
  readonly stream: StreamKey
  /** The last checkpoint that both branches are shown to contain; undefined when that is the start of the stream. */
  readonly common: Head | undefined
}

/**
 * Encodes evidence. Payloads are left out: the chain does not need them, and a redaction does not have to look for them
 * here. Undefined when it is too large.
 * @param common the signed head of the checkpoint that the frames start from; undefined for the start of the stream
 */
export function encodeEvidence(a: Branch, b: Branch, common: Uint8Array | undefined): Buffer | undefined {
  const [longer, shorter] = countOf(a) >= countOf(b) ? [a, b] : [b, a]
  const writer = new ByteWriter(1024).bytes(domain)
  for (const head of [longer.signedHead, shorter.signedHead, common ?? new Uint8Array()])
    writer.uvarint(head.length).bytes(head)
  for (const { frames } of [longer, shorter]) {
    if (frames.length > maxFrames) return undefined
    writer.uvarint(frames.length)
    for (const frame of frames) writer.bytes(withoutAllPayloads(frame))
    if (writer.length > maxBytes) return undefined
  }
  return writer.copy()
}

function countOf({ signedHead }: Branch): number {
  return heads.decodeStored(signedHead).count
}

/** Verifies evidence, from the record and the topic alone. Throws unless it proves a fork. */
export function verifyEvidence(
  record: Uint8Array,
  { topic, kind }: Pick<TopicContext, 'topic' | 'kind'>,
): ForkEvidence {
  if (kind === 'imported') throw new MalformedBytes('an imported topic has no signed heads')
  if (record.length > maxBytes) throw new MalformedBytes('the evidence of a fork is too large')
  const reader = new ByteReader(record)
  if (!reader.bytes(domain.length).equals(domain)) throw new MalformedBytes('these bytes are not evidence of a fork')
  const [longer, shorter] = [readHead(reader), readHead(reader)]
  if (longer === undefined || shorter === undefined) throw new MalformedBytes('the evidence of a fork has no heads')
  const { stream } = longer
  const common = readHead(reader)
  for (const head of [longer, shorter, common])
    if (head !== undefined && (head.topic !== topic || !isSameStream(head.stream, stream)))
      throw new MalformedBytes('the heads of a fork are of different streams')
  if (common !== undefined && (!common.checkpoint || common.count >= shorter.count))
    throw new MalformedBytes('the branches of a fork do not start at a checkpoint')
  const start = { count: common?.count ?? 0, hash: common?.hash ?? genesis(topic, stream) }
  const isLongerShown = passesFrames(reader, start, longer, shorter)
  const isShorterShown = passesFrames(reader, start, shorter, undefined)
  reader.finish()
  const isProven = longer.count === shorter.count ? longer.hash !== shorter.hash : isLongerShown
  if (longer.count < shorter.count || !isProven) throw new MalformedBytes('the heads do not contradict each other')
  // Without the frames of both branches nothing shows that the checkpoint is on both.
  return { stream, common: isLongerShown && isShorterShown ? common : undefined }
}

function readHead(reader: ByteReader): Head | undefined {
  const bytes = reader.bytes(reader.uvarint())
  return bytes.length === 0 ? undefined : heads.verify(bytes)
}

/**
 * Reads the frames of a branch, and checks that they lead from its start to its head. Returns false when there are none.
 * @param other a head that must not be on this branch
 */
function passesFrames(
  reader: ByteReader,
  start: { readonly count: number; readonly hash: Hash },
  end: Head,
  other: Head | undefined,
): boolean {
  const number = reader.uvarint()
  if (number > maxFrames) throw new MalformedBytes('a branch of a fork has too many frames')
  if (number === 0) return false
  let { count, hash } = start
  for (let i = 0; i < number; i++) {
    const frame = checkFrame(reader)
    if (frame.first !== count) throw new MalformedBytes('there is a gap between frames')
    count += frame.count
    hash = hashAfter(frame, hash)
    if (count === other?.count && hash === other.hash) throw new MalformedBytes('one head of a fork follows the other')
  }
  if (count !== end.count || hash !== end.hash) throw new MalformedBytes('the frames do not lead to the signed head')
  return true
}
