import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { shoalCommand } from './shoal-command.ts'

interface NodeProcessOptions {
  /** Options of Node itself. */
  readonly execArgv?: readonly string[]
  /** The folder of a built package. */
  readonly packageFolder?: string
  /** Additional options of `shoal run`. */
  readonly options?: readonly string[]
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>
  /** Shell commands that run in the same process before the node: for inherited limits. */
  readonly before?: readonly string[]
}

/** A node of this checkout in its own process, with a temporary data folder. */
export class NodeProcess {
  readonly #temporary = mkdtempSync(join(tmpdir(), 'shoal-script-'))
  readonly folder = join(this.#temporary, 'data')
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  #port = 0
  /** Its log output so far. */
  log = ''

  private constructor(given: NodeProcessOptions) {
    const { execArgv = [], packageFolder, env, before } = given
    const command = packageFolder === undefined ? shoalCommand : join(packageFolder, 'bin/shoal')
    const options = ['--random', '--print-addresses', '--exit-on-stdin-close', '--working-dir', this.folder]
    const run = [...execArgv, command, 'run', ...options, ...(given.options ?? [])]
    const [file, args] = inShell(before, process.execPath, run)
    // Nodes of scripts must not find others.
    const standalone = { SHOAL_STANDALONE: '1' }
    this.#child = spawn(file, args, { stdio: 'pipe', env: { ...process.env, ...standalone, ...env } })
    // Ignores EPIPE of a node that was killed.
    this.#child.stdin?.on('error', () => {})
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log += text
    })
    this.ended = once(this.#child, 'exit')
  }

  static async start(options: NodeProcessOptions = {}): Promise<NodeProcess> {
    const node = new NodeProcess(options)
    const { stdout } = node.#child
    if (stdout === null) throw new Error('the node has no output')
    const [line] = (await Promise.race([once(createInterface(stdout), 'line'), node.ended])) as [unknown]
    if (typeof line !== 'string') throw new Error(`the node did not start:\n${node.log}`)
    const [api = ''] = (JSON.parse(line) as { api: string[] }).api
    node.#port = Number(api.split(':').at(-1))
    return node
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** A token of an app. */
  async token(appId: string): Promise<string> {
    const body = JSON.stringify({ appId, displayName: 'Script', version: '1.0.0' })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${this.url}/api/v2/auth`, { method: 'POST', headers, body })
    return ((await response.json()) as { token: string }).token
  }

  /** The exit code or the signal of the process; undefined while it runs. */
  get ending(): string | undefined {
    const { exitCode, signalCode } = this.#child
    return signalCode ?? (exitCode === null ? undefined : `exit code ${exitCode}`)
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  async stop(): Promise<void> {
    this.#child.stdin?.end()
    await this.ended
    rmSync(this.#temporary, { recursive: true, force: true })
  }
}

/** Runs a command after others in the same shell; `exec` keeps the process ID. */
function inShell(before: readonly string[] | undefined, command: string, args: string[]): [string, string[]] {
  if (before === undefined || before.length === 0) return [command, args]
  return ['sh', ['-c', [...before, 'exec "$0" "$@"'].join(' && '), command, ...args]]
}
