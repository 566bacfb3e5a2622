import { randomBytes } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'

const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="file.bin"\r\n\r\n')
const tail = Buffer.from('\r\n--b--\r\n')

/** Unique bytes for each upload and each block, so that nothing is deduplicated. */
export function* content(bytes: number): Generator<Buffer> {
  const pattern = randomBytes(1024 * 1024)
  for (let at = 0; at < bytes; at += pattern.length) {
    const piece = Buffer.from(pattern.subarray(0, Math.min(pattern.length, bytes - at)))
    for (let mark = 0; mark < piece.length - 8; mark += 65_536) piece.writeUInt32LE(at + mark, mark)
    yield piece
  }
}

/** An HTTP client of a node. */
export class FilesClient {
  readonly base: string
  readonly token: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor(base: string, token: string) {
    this.base = base
    this.token = token
  }

  async upload(bytes: number): Promise<string> {
    const length = head.length + bytes + tail.length
    const headers = { 'content-type': 'multipart/form-data; boundary=b', 'content-length': length }
    const answer = await this.#ask('POST', '/api/v2/files', headers, Readable.from(formOf(bytes)))
    let cid = ''
    for await (const piece of answer) cid += String(piece)
    return cid
  }

  async download(cid: string): Promise<void> {
    for await (const _ of await this.#ask('GET', `/api/v2/files/${cid}`));
  }

  async publish(): Promise<void> {
    const body = JSON.stringify({ data: [{ tags: ['bench'], payload: { n: 1 } }] })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const answer = await this.#ask('POST', '/api/v2/events/publish', headers, Readable.from([body]))
    for await (const _ of answer);
  }

  close(): void {
    this.#agent.destroy()
  }

  #ask(method: string, path: string, headers = {}, body = Readable.from([])): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const authorization = `Bearer ${this.token}`
      const asked = request(`${this.base}${path}`, {
        method,
        agent: this.#agent,
        headers: { authorization, ...headers },
      })
      asked.once('response', resolve).once('error', reject)
      body.pipe(asked)
    })
  }
}

function* formOf(bytes: number): Generator<Buffer> {
  yield head
  yield* content(bytes)
  yield tail
}
