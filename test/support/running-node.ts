import assert from 'node:assert/strict'
import { initLocal, setLocal } from '../../src/cli/commands/local-settings.ts'
import type { TestScope } from './folder.ts'
import { type Ended, type ProcessOptions, ShoalProcess, shoal, until } from './process.ts'

export interface RunningOptions {
  /** Further options of `shoal run`. */
  readonly options?: readonly string[]
  /** Settings of a swarm, or those that it has: the node exchanges events with others. Without it it stands alone. */
  readonly swarm?: Readonly<Record<string, unknown>> | 'as stored'
  /** The port for other nodes; a free one without it. */
  readonly swarmPort?: number
  readonly env?: NodeJS.ProcessEnv
}

interface Addresses {
  readonly nodeId: string
  readonly peerId: string
  readonly api: readonly string[]
  readonly admin: readonly string[]
  readonly swarm: readonly string[]
}

/** A swarm of a test: on loopback, with a key of its own. */
export const testSwarm = { swarmKey: Buffer.alloc(32, 'test').toString('base64'), mdns: false, gossipInterval: 1 }

/** A node in a process of its own, on loopback, with free ports. */
export class RunningNode {
  readonly folder: string
  readonly process: ShoalProcess
  readonly addresses: Addresses

  private constructor(folder: string, process: ShoalProcess, addresses: Addresses) {
    this.folder = folder
    this.process = process
    this.addresses = addresses
  }

  static async start(test: TestScope, folder: string, given: RunningOptions = {}): Promise<RunningNode> {
    const { options = [], swarm, swarmPort = 0, env: more } = given
    if (typeof swarm === 'object') {
      await initLocal(folder, false)
      await setLocal(folder, ['swarm'], JSON.stringify(swarm))
    }
    const ports = ['--bind-api', '127.0.0.1:0', '--bind-admin', '127.0.0.1:0', '--bind-swarm', `127.0.0.1:${swarmPort}`]
    const env = { SHOAL_STANDALONE: swarm === undefined ? 'on' : 'off', ...more }
    const args = ['run', '--working-dir', folder, '--print-addresses', ...ports, ...options]
    const process = new ShoalProcess(test, args, { env })
    const line = await until(
      () => /^\{.*\}$/m.exec(process.stdout)?.[0],
      () => `the node did not start:\n${process.stderr}`,
      () => process.child.exitCode !== null,
    )
    return new RunningNode(folder, process, JSON.parse(line) as Addresses)
  }

  get id(): string {
    return this.addresses.nodeId
  }

  get url(): string {
    return `http://${this.addresses.api[0]}`
  }

  /** `host:port` of the admin port. */
  get admin(): string {
    return String(this.addresses.admin[0])
  }

  get swarmPort(): number {
    return Number(this.addresses.swarm[0]?.split(':').at(-1))
  }

  /** Its address for `initialPeers`. */
  get peerAddress(): string {
    return `/ip4/127.0.0.1/tcp/${this.swarmPort}/p2p/${this.addresses.peerId}`
  }

  /** Stops it like a service manager. */
  async stop(): Promise<Ended> {
    this.process.kill('SIGTERM')
    return await this.process.ended
  }
}

/** The result of a command with --json, which has to succeed. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
export async function resultOf(test: TestScope, args: readonly string[], options: ProcessOptions = {}): Promise<any> {
  const { code, stdout, stderr } = await shoal(test, [...args, '--json'], options)
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  const answer = JSON.parse(stdout)
  assert.equal(answer.code, 'OK', stdout)
  return answer.result
}
