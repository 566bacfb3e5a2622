import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { shoalCommand } from '../shoal-command.ts'
import type { Machine } from './site.ts'

export interface SiteNodeOptions {
  readonly machine: Machine
  /** The data folder, which survives restarts. */
  readonly folder: string
  /** The values of settings by path, written before the first start. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** The folder of another package to run. */
  readonly packageFolder?: string | undefined
  /** The address of the machine at which the hub reaches the API; its IPv4 address by default. */
  readonly address?: string
  /** Whether the API stays where it is by default, on this machine only. */
  readonly isApiPrivate?: boolean
  /** Further options of `shoal run`. */
  readonly options?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface Published {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
}

/** A node on a machine of a site. Its API is bound to all addresses of the machine, so that the hub reaches it. */
export class SiteNode {
  readonly machine: Machine
  readonly folder: string
  readonly #options: SiteNodeOptions
  #child: ChildProcess | undefined
  #ended: Promise<unknown> = Promise.resolve()
  #token: string | undefined
  /** Its node ID, once it has run. */
  id = ''
  /** Its log of all runs. */
  log = ''

  constructor(options: SiteNodeOptions) {
    this.#options = options
    this.machine = options.machine
    this.folder = options.folder
    this.#settings('init')
    if (options.settings !== undefined) this.#settings('set', '/', JSON.stringify(documentOf(options.settings)))
  }

  get url(): string {
    return `http://${this.#host}:4454`
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('the node does not run')
    return pid
  }

  /** Changes a setting of the stopped node. */
  setOffline(path: string, value: unknown): void {
    this.#settings('set', path, JSON.stringify(value))
  }

  async start(): Promise<this> {
    const { machine, options = [], env, isApiPrivate = false } = this.#options
    const bind = isApiPrivate ? [] : ['--bind-api', `${this.#host.startsWith('[') ? '[::]' : '0.0.0.0'}:4454`]
    const run = ['run', '--working-dir', this.folder, ...bind, '--print-addresses', ...options]
    const args = ['netns', 'exec', machine.name, process.execPath, this.#command, ...run]
    // Other programs here run nodes that stand alone.
    const { SHOAL_STANDALONE: _, ...inherited } = process.env
    const child = spawn('ip', args, { stdio: ['pipe', 'pipe', 'pipe'], env: { ...inherited, ...env } })
    this.#child = child
    this.#ended = once(child, 'exit')
    // A killed node does not read its input.
    child.stdin.on('error', () => {})
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.log += text
    })
    const lines = createInterface(child.stdout)
    const [line] = (await Promise.race([once(lines, 'line'), this.#ended])) as [unknown]
    if (typeof line !== 'string') throw new Error(`the node did not start:\n${this.log}`)
    this.id = (JSON.parse(line) as { nodeId: string }).nodeId
    this.#token = undefined
    return this
  }

  /** Stops it cleanly. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGTERM')
    await this.#ended
    this.#child = undefined
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.#ended
    this.#child = undefined
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Sends a request with a token of an app, and JSON as its body. */
  request(method: string, path: string, body?: unknown): Promise<Response> {
    if (body === undefined) return this.send(method, path, null)
    return this.send(method, path, JSON.stringify(body), { 'content-type': 'application/json' })
  }

  /** Sends a request with a token of an app. */
  async send(method: string, path: string, body: string | FormData | null, more = {}): Promise<Response> {
    this.#token ??= await this.#authenticate()
    const headers = { authorization: `Bearer ${this.#token}`, ...more }
    return fetch(`${this.url}${path}`, { method, headers, body, signal: AbortSignal.timeout(60_000) })
  }

  async json(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await this.request(method, path, body)
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }

  async publish(...payloads: readonly unknown[]): Promise<readonly Published[]> {
    const data = payloads.map((payload) => ({ tags: ['site'], payload }))
    return ((await this.json('POST', '/api/v2/events/publish', { data })) as { data: Published[] }).data
  }

  /** The lines of the answer to a query that are events. */
  async query(query: string): Promise<readonly Record<string, unknown>[]> {
    const response = await this.request('POST', '/api/v2/events/query', { query, order: 'asc' })
    const lines = (await response.text()).split('\n').filter((line) => line !== '')
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ type }) => type === 'event')
  }

  #settings(...args: readonly string[]): void {
    const command = [this.#command, 'settings', 'local', ...args, '--working-dir', this.folder]
    execFileSync(process.execPath, command, { stdio: ['ignore', 'ignore', 'inherit'] })
  }

  async #authenticate(): Promise<string> {
    const manifest = { appId: 'com.example.site', displayName: 'Site', version: '1.0.0' }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${this.url}/api/v2/auth`, {
      method: 'POST',
      headers,
      body: JSON.stringify(manifest),
    })
    return ((await response.json()) as { token: string }).token
  }

  get #host(): string {
    const { address = this.machine.v4 } = this.#options
    return address.includes(':') ? `[${address}]` : address
  }

  get #command(): string {
    return this.#options.packageFolder === undefined ? shoalCommand : join(this.#options.packageFolder, 'bin/shoal')
  }
}

/** The document in which these paths have these values. */
function documentOf(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const document: Record<string, unknown> = {}
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('/').slice(1)
    let at = document
    for (const key of keys.slice(0, -1)) {
      at[key] ??= {}
      at = at[key] as Record<string, unknown>
    }
    at[keys.at(-1) ?? ''] = value
  }
  return document
}
