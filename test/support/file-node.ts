import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Events } from '../../src/events/index.ts'
import { Files } from '../../src/files/index.ts'
import { nodeAppId } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { LinkedBlocks } from '../../src/store/linked/index.ts'
import { BlockReplicator } from '../../src/swarm/exchange/block-replicator.ts'
import { type BlockCloseReason, decodeExchangeMessage, type ExchangeMessage } from '../../src/sync/index.ts'
import { nodeId, silent } from './api.ts'
import { temporaryFolder } from './folder.ts'
import { openEvents } from './open-events.ts'

const app = 'com.example.test'

/** What a connection does with a message: delivers it, or another one, or nothing. */
export type Tamper = (message: ExchangeMessage, bytes: Uint8Array) => Uint8Array | undefined

/** The files of a node, with their thread, and the exchange of blocks over connections within the process. */
export class FileNode {
  readonly name: string
  readonly files: Files
  readonly events: Events
  readonly replicator: BlockReplicator
  /** What it has sent, by kind. */
  readonly sent: Partial<Record<ExchangeMessage['is'], number>> = {}
  readonly closed: { readonly peer: string; readonly reason: BlockCloseReason }[] = []
  readonly failures: unknown[] = []
  /** The blocks that wait to be sent, in bytes; and the maximum of that. */
  unsentBytes = 0
  maxUnsentBytes = 0
  tamper: Tamper = (_, bytes) => bytes
  readonly #peers = new Map<string, FileNode>()
  #link: LinkedBlocks | undefined

  private constructor(name: string, files: Files, events: Events, timeoutMs: number) {
    this.name = name
    this.files = files
    this.events = events
    this.replicator = new BlockReplicator({
      runtime: systemRuntime,
      random: () => 0.5,
      timeoutMs,
      throttle: { pass: () => Promise.resolve() },
      onFailure: (error) => this.failures.push(error),
      transport: {
        sendBlocks: (peer, bytes) => this.#send(peer, bytes),
        close: (peer, reason) => {
          this.closed.push({ peer, reason })
          const other = this.#peers.get(peer)
          if (other !== undefined) this.disconnect(other)
        },
      },
    })
  }

  static async open(t: TestContext, name: string, timeoutMs = 60_000): Promise<FileNode> {
    const folder = temporaryFolder(t)
    const events = await openEvents(join(folder, 'log.db'))
    const file = join(folder, 'blocks.db')
    const blockTimeoutMs = (): number => timeoutMs
    const files = new Files({ ...systemRuntime, file, node: nodeId, events, log: silent, blockTimeoutMs })
    const node = new FileNode(name, files, events, timeoutMs)
    t.after(async () => {
      node.replicator.close()
      node.#link?.close()
      await files.close()
      await events.close()
    })
    await node.link()
    return node
  }

  /** Links the exchange to the files thread, as after a restart of its own thread. */
  async link(): Promise<void> {
    this.#link?.close()
    const port = await this.files.blocks.link()
    this.#link = new LinkedBlocks(port, {
      onNotice: (notice) => this.replicator.noticed(notice),
      onEnd: () => this.replicator.setBlocks(undefined),
    })
    this.replicator.setBlocks(this.#link)
  }

  connect(peer: FileNode): void {
    this.#peers.set(peer.name, peer)
    peer.#peers.set(this.name, this)
    this.replicator.connected(peer.name)
    peer.replicator.connected(this.name)
  }

  disconnect(peer: FileNode): void {
    if (!this.#peers.delete(peer.name)) return
    peer.#peers.delete(this.name)
    this.replicator.disconnected(peer.name)
    peer.replicator.disconnected(this.name)
  }

  /** Sends bytes to a peer as if they were a message. */
  sendRaw(peer: FileNode, bytes: Uint8Array): void {
    peer.replicator.received(this.name, bytes)
  }

  upload(content: Buffer): Promise<string> {
    return this.files.upload(app, (target) => target.add('file', pieces(content)))
  }

  /** Publishes the event of an upload of another node, as replication would bring it. */
  async learn(cid: string): Promise<void> {
    const payload = { type: 'fileAdded', name: 'file', cid, size: 1, mime: 'text/plain', app_id: app }
    await this.publish(['files', 'files:created'], payload)
  }

  /** Publishes an event of the node. */
  async publish(tags: readonly string[], payload: unknown): Promise<void> {
    await this.events.publish(nodeAppId, Buffer.from(JSON.stringify({ data: [{ tags, payload }] })))
  }

  /** Downloads a file. */
  async read(cid: string): Promise<Buffer | undefined> {
    const { content } = await this.files.find(cid, [])
    if (content?.type !== 'file') return undefined
    const read: Uint8Array[] = []
    for await (const piece of this.files.read(content.cid, 0, content.size)) read.push(piece)
    return Buffer.concat(read)
  }

  #send(to: string, bytes: Uint8Array): void {
    const peer = this.#peers.get(to)
    const message = decodeExchangeMessage(bytes)
    this.sent[message.is] = (this.sent[message.is] ?? 0) + 1
    this.unsentBytes += bytes.length
    this.maxUnsentBytes = Math.max(this.maxUnsentBytes, this.unsentBytes)
    setImmediate(() => {
      this.unsentBytes -= bytes.length
      if (peer === undefined || this.#peers.get(to) !== peer) return
      const delivered = this.tamper(message, bytes)
      this.replicator.sent(to)
      // A copy: nothing is shared between two nodes.
      if (delivered !== undefined) peer.replicator.received(this.name, Buffer.from(delivered))
    })
  }
}

async function* pieces(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}
