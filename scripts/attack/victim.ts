import type { NodeProcess } from '../node-process.ts'

/** The node under attack, and what it takes to talk to it. */
export class Victim {
  readonly node: NodeProcess
  readonly token: string
  readonly #prepared = new Map<string, Promise<unknown>>()

  constructor(node: NodeProcess, token: string) {
    this.node = node
    this.token = token
  }

  static async of(node: NodeProcess): Promise<Victim> {
    return new Victim(node, await node.token('com.example.attack'))
  }

  get port(): number {
    return this.node.port
  }

  /** Prepares something once per node, however many attacks need it. */
  prepareOnce<T>(name: string, prepare: () => Promise<T>): Promise<T> {
    const known = this.#prepared.get(name) as Promise<T> | undefined
    const prepared = known ?? prepare()
    this.#prepared.set(name, prepared)
    return prepared
  }

  /** A request of a well-behaved client; throws unless the answer is good. */
  async request(method: string, path: string, type: string, body: Buffer<ArrayBuffer> | string): Promise<string> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': type }
    const response = await fetch(`${this.node.url}${path}`, { method, headers, body })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text
  }

  async publish(tags: readonly string[], payloads: readonly unknown[]): Promise<void> {
    const data = payloads.map((payload) => ({ tags, payload }))
    await this.request('POST', '/api/v2/events/publish', 'application/json', JSON.stringify({ data }))
  }
}
