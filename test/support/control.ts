import { request } from 'node:http'
import { controlSocketOf } from '../../src/admin/control-path.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  readonly body: any
}

export interface Asked {
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request to the control socket of a data folder. */
export function control(
  folder: string,
  method: string,
  path: string,
  { body = '', headers = {} }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        socketPath: controlSocketOf(folder),
        path: `/api/v2/admin${path}`,
        method,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
        agent: false,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part
        })
        response.on('end', () => {
          const { statusCode = 0, headers: received } = response
          resolve({ status: statusCode, headers: received, body: parsed(text, received['content-type']) })
        })
      },
    )
    outgoing.on('error', reject).end(body)
  })
}

function parsed(text: string, type: string | undefined): unknown {
  if (text === '') return undefined
  if (type !== 'application/x-ndjson') return JSON.parse(text)
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as unknown)
}
