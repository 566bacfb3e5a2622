import { ByteReader, type ByteWriter, type Labels } from '../../../protocol/index.ts'

/**
 * Labels as the part of an event's JSON between timestamp and payload: `,"tags":["a","b"],"appId":"x","payload":`. They
 * are written and matched as bytes, without creating strings or parsing JSON for every event.
 */
export const tagsKey = ',"tags":['
export const appKey = '],"appId":'
export const payloadKey = ',"payload":'

const [quote, comma] = [0x22, 0x2c]

/** Bytes, and a view of them to read several at a time. */
interface Source {
  readonly bytes: Buffer
  readonly view: DataView
}

/** Writes the JSON of labels, given by the position of their canonical bytes. */
export function writeLabelJson(writer: ByteWriter, source: Source, start: number, end: number): void {
  const labels = new ByteReader(source.bytes, start, end)
  const app = labels.skip(labels.uvarint())
  const appEnd = labels.at
  writer.bytes(tagsKeyBytes)
  for (let i = 0, count = labels.uvarint(); i < count; i++) {
    if (i > 0) writer.byte(comma)
    const tag = labels.skip(labels.uvarint())
    writeString(writer, source, tag, labels.at)
  }
  writer.bytes(appKeyBytes)
  writeString(writer, source, app, appEnd)
  writer.bytes(payloadKeyBytes)
}

const [tagsKeyBytes, appKeyBytes, payloadKeyBytes] = [tagsKey, appKey, payloadKey].map((key) => Buffer.from(key)) as [
  Buffer,
  Buffer,
  Buffer,
]

/** Fast path: nearly all texts need no escapes and are copied in one pass. */
function writeString(writer: ByteWriter, { bytes, view }: Source, start: number, end: number): void {
  const { length } = writer
  writer.byte(quote)
  if (writer.plainText(view, start, end)) writer.byte(quote)
  else writer.truncate(length).bytes(Buffer.from(JSON.stringify(bytes.toString('utf8', start, end))))
}

export function parseLabelJson(bytes: Buffer, start: number, end: number): Labels {
  return JSON.parse(`{${bytes.toString('utf8', start + 1, end - payloadKey.length)}}`) as Labels
}
