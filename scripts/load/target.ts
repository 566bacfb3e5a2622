import { Agent, type IncomingMessage, request } from 'node:http'

/** A server with the token of a publisher. */
export interface Target {
  readonly url: string
  readonly token: string
}

// Idle connections are closed before the server does, to avoid reusing one that is being closed.
const agent = new Agent({ keepAlive: true, timeout: 2000 })

/** Posts to an events endpoint. Returns the response with an unread body. */
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

/** The body of a response, which has to be successful. */
export async function textOf(answer: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  const text = Buffer.concat(parts).toString('utf8')
  if (answer.statusCode !== 200) throw new Error(`${answer.statusCode}: ${text}`)
  return text
}
