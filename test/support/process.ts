import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import type { TestScope } from './folder.ts'

/** Timeout of `until`: generous for slow machines, and it costs nothing when the condition comes true. */
const patienceMs = 60_000

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

export interface ProcessOptions extends SpawnOptions {
  /** The limit of open files of the process (`ulimit -n`). */
  readonly openFiles?: number
}

/** A shoal process with its output so far. */
export class ShoalProcess {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly #ended: Promise<Ended>

  constructor(test: TestScope, args: readonly string[], { openFiles, ...options }: ProcessOptions = {}) {
    const limited = ['-c', `ulimit -n ${openFiles} && exec "$0" "$@"`, process.execPath, shoalCommand, ...args]
    const [file, all] = openFiles === undefined ? [process.execPath, [shoalCommand, ...args]] : ['sh', limited]
    this.child = spawn(file, all, {
      stdio: ['pipe', 'pipe', 'pipe'],
      ...options,
      env: cleanEnvironment(options.env),
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    this.#ended = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }))
    test.after(() => this.child.kill('SIGKILL'))
  }

  get ended(): Promise<Ended> {
    return this.#ended
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Waits for a matching text in the log. */
  async logged(pattern: RegExp): Promise<RegExpExecArray> {
    return await until(
      () => pattern.exec(this.stderr) ?? undefined,
      () => `no ${pattern} in the log:\n${this.stderr}`,
      () => this.child.exitCode !== null,
    )
  }

  /** Waits until the node has started. Returns the URL of its API. */
  async api(): Promise<string> {
    await this.logged(/NODE_STARTED_BY_HOST/)
    const [, address = ''] = await this.logged(/API bound to (\S+)\./)
    return `http://${address}`
  }
}

/** Runs a command and waits until it has exited. */
export async function shoal(
  test: TestScope,
  args: readonly string[],
  options: ProcessOptions & { input?: string } = {},
): Promise<Ended> {
  const process = new ShoalProcess(test, args, options)
  // EPIPE: a command that needs no input may have exited already.
  process.child.stdin?.on('error', () => {})
  process.child.stdin?.end(options.input ?? '')
  return await process.ended
}

/** Polls until there is a value; fails with `why` on a timeout, or when `hopeless` is true. */
export async function until<T>(
  value: () => T | undefined | Promise<T | undefined>,
  why: () => string,
  hopeless = () => false,
): Promise<T> {
  const deadline = Date.now() + patienceMs
  while (true) {
    const over = hopeless()
    const found = await value()
    if (found !== undefined) return found
    if (over || Date.now() > deadline) throw new Error(why())
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The environment without variables that shoal reads. Nodes must not find each other, unless a test says so. */
function cleanEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const ours = /^(npm_|SHOAL_|ACTYX_|AX_|RUST_LOG$|NO_COLOR$|NODE_OPTIONS$)/
  const kept = Object.entries(process.env).filter(([name]) => !ours.test(name))
  return { ...Object.fromEntries(kept), SHOAL_STANDALONE: '1', ...more }
}
