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
  const app = labels.bytes(labels.uvarint())
  writer.latin1(tagsKey)
  for (let i = 0, count = labels.uvarint(); i < count; i++) {
    if (i > 0) writer.byte(comma)
    writeString(writer, labels.bytes(labels.uvarint()))
  }
  writer.latin1(appKey)
  writeString(writer, app)
  writer.latin1(payloadKey)
}

function writeString(writer: ByteWriter, text: Buffer): void {
  if (needsEscapes(text)) {
    writer.bytes(Buffer.from(JSON.stringify(text.toString('utf8'))))
    return
  }
  writer.byte(quote).bytes(text).byte(quote)
}

function needsEscapes(text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) {
    const byte = text[i] as number
    if (byte < space || byte === quote || byte === backslash) return true
  }
  return false
}

export function parseLabelJson(bytes: Buffer, start: number, end: number): Labels {
  return JSON.parse(`{${bytes.toString('utf8', start + 1, end - payloadKey.length)}}`) as Labels
}
