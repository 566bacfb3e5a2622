import type { Endpoint } from '../../src/aql/index.ts'
import type { TestEvent } from '../../test/aql/eval/run.ts'
import type { Answer } from './answer.ts'
import type { Placement } from './placement.ts'

export interface Request {
  readonly endpoint: Endpoint
  readonly body: object
}

interface Key {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
}

/** A client of one of the two nodes. */
export class Side {
  /** The responses so far. */
  readonly said = { values: 0, diagnostics: 0, refusals: 0 }
  readonly #url: string
  readonly #token: string

  private constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  static async open(url: string, appId: string): Promise<Side> {
    const manifest = { appId, displayName: 'Comparison', version: '1.0.0' }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/api/v2/auth`, { method: 'POST', headers, body: JSON.stringify(manifest) })
    if (response.status !== 200) throw new Error(`${url} gives no token: ${await response.text()}`)
    return new Side(url, ((await response.json()) as { token: string }).token)
  }

  async publish(events: readonly TestEvent[], tag: string): Promise<Placement> {
    const data = events.map(({ json, tags = [] }) => `{"tags":${JSON.stringify([...tags, tag])},"payload":${json}}`)
    const response = await this.#post('publish', `{"data":[${data.join(',')}]}`)
    const keys = ((await response.json()) as { data: Key[] }).data
    const [first] = keys
    if (first === undefined) throw new Error('no events to publish')
    const isNext = ({ lamport, offset }: Key, at: number): boolean =>
      lamport === first.lamport + at && offset === first.offset + at
    if (!keys.every(isNext)) throw new Error('the events of one request are not stored one after the other')
    return { tag, lamport: first.lamport, offset: first.offset, stream: first.stream }
  }

  /** The response of an endpoint; of a subscription, until it is caught up. */
  async ask({ endpoint, body }: Request): Promise<Answer> {
    const response = await this.#post(endpoint, JSON.stringify(body))
    const lines = (await textUpToOffsets(response)).split('\n').filter((line) => line !== '')
    if (response.status !== 200) this.said.refusals++
    this.said.values += lines.filter((line) => line.startsWith('{"type":"event"')).length
    this.said.diagnostics += lines.filter((line) => line.startsWith('{"type":"diagnostic"')).length
    return { status: response.status, lines }
  }

  #post(endpoint: string, body: string): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' }
    return fetch(`${this.#url}/api/v2/events/${endpoint}`, { method: 'POST', headers, body })
  }
}

async function textUpToOffsets({ body }: Response): Promise<string> {
  let text = ''
  if (body === null) return text
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part
    // Leaving the loop cancels the response.
    if (/"type":"offsets".*\n/.test(text)) break
  }
  return text
}
