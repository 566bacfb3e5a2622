import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { unpackedPackage } from './packed.ts'

const checkout = join(import.meta.dirname, '..')

interface NodeProcessOptions {
  /** What Node itself is told. */
  readonly execArgv?: readonly string[]
  /** Whether it runs from the package instead of its source. */
  readonly isPacked?: boolean
  /** Folder of a package that was unpacked before, for programs that start several nodes from it. */
  readonly packageFolder?: string
  /** Further options of `shoal run`. */
  readonly options?: readonly string[]
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>
  /** Shell commands that run in the same process before the node does: for limits that processes inherit. */
  readonly before?: readonly string[]
}

/** A node of this tree in a process and a folder of its own, which is removed with it. */
export class NodeProcess {
  readonly #temporary = mkdtempSync(join(tmpdir(), 'shoal-script-'))
  readonly folder = join(this.#temporary, 'data')
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  #port = 0
  /** What it has logged. */
  log = ''

  private constructor(given: NodeProcessOptions) {
    const { execArgv = [], isPacked = false, packageFolder, env, before } = given
    const unpacked = packageFolder ?? (isPacked ? unpackedPackage(join(this.#temporary, 'packed')) : checkout)
    const options = ['--random', '--print-addresses', '--exit-on-stdin-close', '--working-dir', this.folder]
    const run = [...execArgv, join(unpacked, 'bin/shoal'), 'run', ...options, ...(given.options ?? [])]
    const [command, args] = inShell(before, process.execPath, run)
    this.#child = spawn(command, args, { stdio: 'pipe', env: { ...process.env, ...env } })
    // A node that was killed does not read it any more.
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

  /** How the process ended: its exit code or the signal; undefined while it runs. */
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

/** The command, after others in the same shell: `exec` keeps the process ID. */
function inShell(before: readonly string[] | undefined, command: string, args: string[]): [string, string[]] {
  if (before === undefined || before.length === 0) return [command, args]
  return ['sh', ['-c', [...before, 'exec "$0" "$@"'].join(' && '), command, ...args]]
}
