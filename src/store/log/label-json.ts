import type { ByteReader, ByteWriter, Labels } from '../../protocol/index.ts'

/**
 * Labels as the piece of an event's JSON between its timestamp and its payload: `,"tags":["a","b"],"appId":"x","payload":`.
 * They are made and looked at as bytes, without making strings or parsing JSON for every event.
 */
export const tagsKey = ',"tags":['
export const appKey = '],"appId":'
export const payloadKey = ',"payload":'

const [quote, backslash, comma, space] = [0x22, 0x5c, 0x2c, 0x20]

/** Writes the piece for labels in their canonical bytes. */
export function writeLabelJson(writer: ByteWriter, labels: ByteReader): void {
  const { buffer } = labels
  const app = labels.skip(labels.uvarint())
  const appEnd = labels.at
  writer.bytes(tagsKeyBytes)
  for (let i = 0, count = labels.uvarint(); i < count; i++) {
    if (i > 0) writer.byte(comma)
    const tag = labels.skip(labels.uvarint())
    writeString(writer, buffer, tag, labels.at)
  }
  writer.bytes(appKeyBytes)
  writeString(writer, buffer, app, appEnd)
  writer.bytes(payloadKeyBytes)
}

const [tagsKeyBytes, appKeyBytes, payloadKeyBytes] = [tagsKey, appKey, payloadKey].map((key) => Buffer.from(key)) as [
  Buffer,
  Buffer,
  Buffer,
]

/** Writes it as it is, which nearly all can be, looking at each byte once. */
function writeString(writer: ByteWriter, bytes: Buffer, start: number, end: number): void {
  const { length } = writer
  writer.byte(quote)
  if (writer.bytesWhile(isPlain, bytes, start, end)) writer.byte(quote)
  else writer.cut(length).bytes(Buffer.from(JSON.stringify(bytes.toString('utf8', start, end))))
}

/** Whether a byte stands for itself in the JSON of a string, 1 or 0. */
const isPlain = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < space || byte === quote || byte === backslash ? 0 : 1,
)

export function parseLabelJson(bytes: Buffer, start: number, end: number): Labels {
  return JSON.parse(`{${bytes.toString('utf8', start + 1, end - payloadKey.length)}}`) as Labels
}
