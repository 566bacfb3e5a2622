import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Assault, Attack } from './attack.ts'
import { countHttp, jsonRequest } from './raw-http.ts'
import { RawSocket } from './raw-socket.ts'

/** Events per publish, and publishes: enough for the node to seal chunks, for which it starts the sealer thread. */
const eventsPerPublish = 5000
const publishes = 10

/** Idle connections, more than the limit of open files of the node allows. */
export const idleConnections: Attack = {
  name: 'idle-connections',
  description: 'more idle connections than the node may have files open (1,024 unless --nofile says otherwise)',
  nofile: 1024,
  leastSeconds: 4,
  bystanderPauseMs: 500,
  async run(assault) {
    const { signal, victim, tally } = assault
    const publisher = await RawSocket.open(assault)
    const attempts = Math.ceil(fileLimitOf(victim.node.pid) * 1.2) + 100
    const open: RawSocket[] = []
    for (let n = 0; n < attempts && !signal.aborted; n++) {
      const raw = await RawSocket.open(assault)
      if (raw !== undefined) open.push(raw.reading())
    }
    if (publisher !== undefined) await publishMany(publisher, assault)
    await delay(600_000, undefined, { signal }).catch(() => {})
    const closed = open.filter(({ isOpen }) => !isOpen).length
    for (let n = 0; n < closed; n++) tally.count('closed by the node')
    for (let n = closed; n < open.length; n++) tally.count('still open at the end')
    for (const raw of open) raw.destroy()
  },
}

/** Publishes on an open connection: without free file descriptors the node has to serve existing clients. */
async function publishMany(raw: RawSocket, assault: Assault): Promise<void> {
  const { victim, signal } = assault
  const data = Array.from({ length: eventsPerPublish }, (_, n) => ({ tags: ['attack:idle'], payload: { n } }))
  const request = Buffer.from(jsonRequest(victim, '/api/v2/events/publish', { data }))
  for (let n = 0; n < publishes; n++) {
    if (!(await raw.send(request, signal))) break
    await raw.answered(signal)
  }
  await countHttp(raw, assault)
}

/** The limit of open files of a process. */
export function fileLimitOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/limits`, 'utf8')
  return Number(/^Max open files\s+(\d+)/m.exec(text)?.[1] ?? 1024)
}
