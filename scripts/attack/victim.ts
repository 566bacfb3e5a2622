import type { NodeProcess } from '../node-process.ts'

/** The node under attack, with a client for it. */
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

  /** Runs a preparation once per node, for all attacks that need it. */
  prepareOnce<T>(name: string, prepare: () => Promise<T>): Promise<T> {
    const known = this.#prepared.get(name) as Promise<T> | undefined
    const prepared = known ?? prepare()
    this.#prepared.set(name, prepared)
    return prepared
  }

  /** A well-formed request; throws unless the response is successful. */
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
