import type { TestContext } from 'node:test'
import type { SiteNode } from '../../scripts/site/site-node.ts'
import { type KeyPair, nodeIdOf, parseNodeId, publicKeyOf } from '../../src/identity/index.ts'
import type { Channel } from '../../src/swarm/host/index.ts'
import { decodeMessage, encodeMessage } from '../../src/swarm/index.ts'
import {
  decodeExchangeMessage,
  type ExchangeMessage,
  encodeExchangeMessage,
  type Message,
} from '../../src/sync/index.ts'
import { type Received, TestHost, testSwarmKey } from '../swarm/host/hosts.ts'
import { eventually, ownSwarm, untilReady } from './swarm-of.ts'

export const wireTopic = 'default-topic'

/** Settings of a node that a `WirePeer` can connect to. */
export function wireSettings(initialPeers: readonly string[] = []): Record<string, unknown> {
  return ownSwarm(initialPeers, testSwarmKey)
}

/** The multiaddr of a node. */
export function dialAddressOf({ machine }: SiteNode): string {
  return `/ip4/${machine.v4}/tcp/4001`
}

type Kind = Message['is']
// `ping` and `pong` are one member of the union, so that a message is selected by what its kind may be.
type Of<K extends Kind> = Message extends infer M
  ? M extends { is: infer Is }
    ? K extends Is
      ? M
      : never
    : never
  : never

/** A peer on the real host that says what the test tells it to: it knows the swarm key and the protocol. */
export class WirePeer {
  readonly #host: TestHost
  readonly #received: Received

  private constructor(host: TestHost, received: Received) {
    this.#host = host
    this.#received = received
  }

  /** Connects to a node when it is ready. */
  static async connect(t: TestContext, node: SiteNode, key?: KeyPair): Promise<WirePeer> {
    await untilReady(node)
    const host = await TestHost.start(t, { topic: wireTopic, listen: [], ...(key && { key }) })
    const name = Buffer.from(publicKeyOf(parseNodeId(node.id))).toString('latin1')
    const session = await host.host.dial(name, dialAddressOf(node), AbortSignal.timeout(30_000))
    const received = host.sessions.find((own) => own.session === session)
    if (received === undefined) throw new Error('no session was reported for the dial')
    return new WirePeer(host, received)
  }

  /** Connects, and exchanges hellos. */
  static async greet(t: TestContext, node: SiteNode, hello: Partial<Of<'hello'>> = {}): Promise<WirePeer> {
    const peer = await WirePeer.connect(t, node)
    peer.send({ is: 'hello', version: 1, features: [], required: [], time: Date.now() * 1000, ...hello })
    await peer.next('hello')
    return peer
  }

  get key(): KeyPair {
    return this.#host.key
  }

  get nodeId(): string {
    return nodeIdOf(this.key.publicKey)
  }

  /** Why the session has ended. */
  get closed(): Received['closed'] {
    return this.#received.closed
  }

  /** Everything that has arrived, in order. */
  get frames(): Received['messages'] {
    return this.#received.messages
  }

  /** The messages of a kind that have arrived. */
  all<K extends Kind>(kind: K): Of<K>[] {
    return this.frames
      .filter(({ channel }) => channel !== 'blocks')
      .map(({ bytes }) => decodeMessage(bytes))
      .filter((message): message is Of<K> => message?.is === kind)
  }

  /** The messages about blocks that have arrived. */
  get blocks(): ExchangeMessage[] {
    return this.frames.filter(({ channel }) => channel === 'blocks').map(({ bytes }) => decodeExchangeMessage(bytes))
  }

  /** Waits for a message of a kind, and maybe of a content. */
  async next<K extends Kind>(kind: K, fits: (message: Of<K>) => boolean = () => true): Promise<Of<K>> {
    return await eventually(
      () => {
        if (this.closed !== undefined) throw new Error(`no ${kind}: ${this.closed.reason}`)
        return this.all(kind).find(fits)
      },
      () => `no ${kind}`,
    )
  }

  send(message: Message): void {
    this.sendBytes(message.is === 'push' || message.is === 'hello' ? 'live' : 'sync', encodeMessage(message))
  }

  sendBlocks(message: ExchangeMessage): void {
    this.sendBytes('blocks', encodeExchangeMessage(message))
  }

  sendBytes(channel: Channel, bytes: Uint8Array): void {
    this.#received.session.send(channel, bytes)
  }

  get waitingBytes(): number {
    return this.#received.session.waitingBytes
  }

  /** Stops to read, or goes on. */
  pause(isPaused: boolean): void {
    this.#received.session.pause(isPaused)
  }

  /** Waits until the session is closed, and returns why. */
  async untilClosed(patienceMs?: number): Promise<string> {
    return await eventually(
      () => this.closed?.reason,
      () => 'the session stays open',
      patienceMs,
    )
  }

  async stop(): Promise<void> {
    await this.#host.host.stop()
  }
}
