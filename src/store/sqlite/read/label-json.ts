import { ByteReader, type ByteWriter, type Frame, type Labels } from '../../../protocol/index.ts'

/**
 * Labels as the piece of an event's JSON between its timestamp and its payload: `,"tags":["a","b"],"appId":"x","payload":`.
 * They are made and looked at as bytes, without making strings or parsing JSON for every event.
 */
export const tagsKey = ',"tags":['
export const appKey = '],"appId":'
export const payloadKey = ',"payload":'

const [quote, comma] = [0x22, 0x2c]

/** Writes the piece for the labels of a frame whose canonical bytes stand there. */
export function writeLabelJson(writer: ByteWriter, frame: Frame, start: number, end: number): void {
  const labels = new ByteReader(frame.bytes, start, end)
  const app = labels.skip(labels.uvarint())
  const appEnd = labels.at
  writer.bytes(tagsKeyBytes)
  for (let i = 0, count = labels.uvarint(); i < count; i++) {
    if (i > 0) writer.byte(comma)
    const tag = labels.skip(labels.uvarint())
    writeString(writer, frame, tag, labels.at)
  }
  writer.bytes(appKeyBytes)
  writeString(writer, frame, app, appEnd)
  writer.bytes(payloadKeyBytes)
}

const [tagsKeyBytes, appKeyBytes, payloadKeyBytes] = [tagsKey, appKey, payloadKey].map((key) => Buffer.from(key)) as [
  Buffer,
  Buffer,
  Buffer,
]

/** Writes it as it is, which nearly all can be, looking at each byte once. */
function writeString(writer: ByteWriter, { bytes, words }: Frame, start: number, end: number): void {
  const { length } = writer
  writer.byte(quote)
  if (writer.plainText(words, start, end)) writer.byte(quote)
  else writer.cut(length).bytes(Buffer.from(JSON.stringify(bytes.toString('utf8', start, end))))
}

export function parseLabelJson(bytes: Buffer, start: number, end: number): Labels {
  return JSON.parse(`{${bytes.toString('utf8', start + 1, end - payloadKey.length)}}`) as Labels
}
