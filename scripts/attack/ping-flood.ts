import type { Attack } from './attack.ts'
import { crowd } from './raw-socket.ts'
import { countWebSocket, frame, opcodes, openWebSocket } from './raw-websocket.ts'

const emptyPings = Buffer.concat(Array.from({ length: 1000 }, () => frame(opcodes.ping, '')))
const fullPings = Buffer.concat(Array.from({ length: 500 }, () => frame(opcodes.ping, 'x'.repeat(125))))

/** Pings whose pongs are never read: they accumulate in the node unless it stops reading. */
export const pingFlood: Attack = {
  name: 'ping-flood',
  description: 'WebSocket pings, small and of the largest size, whose pongs are not read',
  goal: { megabytes: 300 },
  async run(assault) {
    const { signal } = assault
    await crowd(2, signal, async () => {
      const raw = await openWebSocket(assault)
      if (raw === undefined) return
      let isOpen = true
      for (let n = 0; isOpen; n++) isOpen = await raw.send(n % 20 === 0 ? emptyPings : fullPings, signal)
      await countWebSocket(raw, assault)
    })
  },
}
