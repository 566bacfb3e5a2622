import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'

const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="file.bin"\r\n\r\n')
const tail = Buffer.from('\r\n--b--\r\n')

/** Bytes that no two uploads, and no two blocks of one, have in common. */
export function* content(bytes: number): Generator<Buffer> {
  const pattern = randomBytes(1024 * 1024)
  for (let at = 0; at < bytes; at += pattern.length) {
    const piece = Buffer.from(pattern.subarray(0, Math.min(pattern.length, bytes - at)))
    for (let mark = 0; mark < piece.length - 8; mark += 65_536) piece.writeUInt32LE(at + mark, mark)
    yield piece
  }
}

/** A node in a process and a folder of its own, and a client of it. */
export class RunningNode {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #base: string
  readonly #token: string
  readonly #pid: number
  readonly #agent = new Agent({ keepAlive: true })

  private constructor(child: ChildProcess, folder: string, base: string, token: string, pid: number) {
    this.#child = child
    this.#folder = folder
    this.#base = base
    this.#token = token
    this.#pid = pid
  }

  static async start(): Promise<RunningNode> {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-files-'))
    const command = join(import.meta.dirname, '../../bin/shoal')
    const args = ['run', '--random', '--print-addresses', '--exit-on-stdin-close', '--working-dir', folder]
    const child = spawn(process.execPath, [command, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const { api, pid } = JSON.parse(line) as { api: string[]; pid: number }
    const base = `http://${api[0]}`
    const manifest = { appId: 'com.example.bench', displayName: 'Bench', version: '1' }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${base}/api/v2/auth`, { method: 'POST', headers, body: JSON.stringify(manifest) })
    const { token } = (await answer.json()) as { token: string }
    return new RunningNode(child, folder, base, token, pid)
  }

  /** Mebibytes of memory that the process has. */
  get memory(): number {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8')) ?? []
    return Number(kib) / 1024
  }

  async upload(bytes: number): Promise<string> {
    const headers = {
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': head.length + bytes + tail.length,
    }
    const answer = await this.#ask('POST', '/api/v2/files', headers, Readable.from(formOf(bytes)))
    let cid = ''
    for await (const piece of answer) cid += String(piece)
    return cid
  }

  async download(cid: string): Promise<number> {
    let bytes = 0
    for await (const piece of await this.#ask('GET', `/api/v2/files/${cid}`)) bytes += (piece as Buffer).length
    return bytes
  }

  async publish(): Promise<void> {
    const body = JSON.stringify({ data: [{ tags: ['bench'], payload: { n: 1 } }] })
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const answer = await this.#ask('POST', '/api/v2/events/publish', headers, Readable.from([body]))
    for await (const _ of answer);
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    this.#child.stdin?.end()
    await once(this.#child, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #ask(method: string, path: string, headers = {}, body = Readable.from([])): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const authorization = `Bearer ${this.#token}`
      const asked = request(`${this.#base}${path}`, {
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
