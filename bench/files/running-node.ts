import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { FilesClient } from './client.ts'

/** A node in its own process, with a temporary data folder. */
export class RunningNode {
  readonly client: FilesClient
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #pid: number

  private constructor(client: FilesClient, child: ChildProcess, folder: string, pid: number) {
    this.client = client
    this.#child = child
    this.#folder = folder
    this.#pid = pid
  }

  static async start(): Promise<RunningNode> {
    const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-files-'))
    const command = join(import.meta.dirname, '../../bin/shoal')
    const options = ['--random', '--standalone', '--print-addresses', '--exit-on-stdin-close']
    const args = ['run', ...options, '--working-dir', folder]
    const child = spawn(process.execPath, [command, ...args], { stdio: ['pipe', 'pipe', 'ignore'] })
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const { api, pid } = JSON.parse(line) as { api: string[]; pid: number }
    const base = `http://${api[0]}`
    const manifest = { appId: 'com.example.bench', displayName: 'Bench', version: '1' }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${base}/api/v2/auth`, { method: 'POST', headers, body: JSON.stringify(manifest) })
    const { token } = (await answer.json()) as { token: string }
    return new RunningNode(new FilesClient(base, token), child, folder, pid)
  }

  /** Resident memory of the process in mebibytes. */
  get memory(): number {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8')) ?? []
    return Number(kib) / 1024
  }

  async stop(): Promise<void> {
    this.client.close()
    this.#child.stdin?.end()
    await once(this.#child, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
