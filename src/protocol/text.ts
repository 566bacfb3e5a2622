import { isUtf8 } from 'node:buffer'

/** Size up to which text is checked without a call of Node: a view for each short text would cost more than its check. */
const shortBytes = 1024

/** Whether a range of bytes is UTF-8. */
export function isText(buffer: Buffer, view: DataView, start: number, end: number): boolean {
  return (end - start <= shortBytes && isAscii(view, start, end)) || isUtf8(buffer.subarray(start, end))
}

function isAscii(view: DataView, start: number, end: number): boolean {
  let i = start
  for (; i + 4 <= end; i += 4) if ((view.getInt32(i) & 0x80808080) !== 0) return false
  for (; i < end; i++) if ((view.getUint8(i) & 0x80) !== 0) return false
  return true
}
