import { KeyPair } from '../../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../../src/logging/index.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { type Channel, Host, type HostOptions, type Session, type SessionEnd } from '../../../src/swarm/host/index.ts'
import type { TestScope } from '../../support/folder.ts'

/** What a session of a test has received. */
export class Received {
  readonly session: Session
  readonly messages: { readonly channel: Channel; readonly bytes: Buffer }[] = []
  readonly sent: { readonly channel: Channel; readonly bytes: number }[] = []
  readonly congested: boolean[] = []
  closed: { readonly reason: string; readonly end: SessionEnd } | undefined
  #bytes = 0

  constructor(session: Session) {
    this.session = session
    session.onMessage = (channel, bytes) => {
      this.messages.push({ channel, bytes })
      this.#bytes += bytes.length
    }
    session.onSent = (channel, bytes) => this.sent.push({ channel, bytes })
    session.onCongested = (isCongested) => this.congested.push(isCongested)
    session.onClose = (reason, end) => {
      this.closed = { reason, end }
    }
  }

  get bytes(): number {
    return this.#bytes
  }
}

/** A host of a test, with its sessions and failures. */
export class TestHost {
  readonly key: KeyPair
  readonly sessions: Received[] = []
  readonly failures: { readonly address: string; readonly reason: string }[] = []
  #host: Host | undefined

  private constructor(key: KeyPair) {
    this.key = key
  }

  static async start(test: TestScope, options: Partial<HostOptions> = {}): Promise<TestHost> {
    const made = new TestHost(options.key ?? KeyPair.generate(systemRuntime.random))
    const sink = { write: () => {}, flush: async () => {} }
    made.#host = await Host.start({
      key: made.key,
      swarmKey: testSwarmKey,
      topic: 'test-topic',
      listen: [{ host: '127.0.0.1', port: 0 }],
      announce: [],
      agent: 'Test Node',
      mdns: false,
      runtime: systemRuntime,
      log: new Logger(logOutput(textLine(false), sink, systemRuntime.clock), 'swarm'),
      onFound: () => {},
      onSession: (session) => made.sessions.push(new Received(session)),
      onInboundFailure: (address, reason) => made.failures.push({ address, reason }),
      ...options,
    })
    test.after(() => made.host.stop())
    return made
  }

  get host(): Host {
    if (this.#host === undefined) throw new Error('the host has not started')
    return this.#host
  }

  get name(): string {
    return Buffer.from(this.key.publicKey).toString('latin1')
  }

  get address(): string {
    return this.host.addresses[0] ?? ''
  }

  /** Dials another host, and returns the received messages of both sides. */
  async connect(other: TestHost, address = other.address): Promise<[Received, Received]> {
    const session = await this.host.dial(other.name, address, new AbortController().signal)
    const own = this.sessions.find((received) => received.session === session)
    const theirs = await eventually(() => other.sessions.find(({ session: { peer } }) => peer === this.name))
    if (own === undefined) throw new Error('no session was reported for the dial')
    return [own, theirs]
  }
}

/** A swarm key of the tests: nodes of the machine that use the default one are never reached. */
export const testSwarmKey = Buffer.alloc(32, 0x5a).toString('base64')

/** Waits until the function returns something else than undefined or false. */
export async function eventually<T>(probe: () => T | undefined | false, patienceMs = 30_000): Promise<T> {
  const end = performance.now() + patienceMs
  for (;;) {
    const found = probe()
    if (found !== undefined && found !== false) return found
    if (performance.now() > end) throw new Error(`not in ${patienceMs} ms: ${probe}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
