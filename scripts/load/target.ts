import { Agent, type IncomingMessage, request } from 'node:http'

/** A server that events are published to, and who does it. */
export interface Target {
  readonly url: string
  readonly token: string
}

// Connections that nobody uses are given up before the server does: one that is just being closed cannot be used.
const agent = new Agent({ keepAlive: true, timeout: 2000 })

/** Posts to an endpoint of the events; answers with the answer, of which nothing was read yet. */
export function post({ url, token }: Target, endpoint: string, body: unknown): Promise<IncomingMessage> {
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': bytes.length,
  }
  return new Promise((resolve, reject) => {
    const posted = request(`${url}/api/v2/events/${endpoint}`, { method: 'POST', headers, agent }, resolve)
    posted.on('error', reject)
    posted.end(bytes)
  })
}

/** The whole of an answer, which has to be a good one. */
export async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString('utf8')
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`)
  return text
}
