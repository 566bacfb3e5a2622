// The baseline: a node:http server that sends every posted body to all listeners. It stores nothing and has no
// backpressure.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const listeners = new Set<ServerResponse>()

const server = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as { data?: { payload: unknown }[] }
    if (body.data === undefined) {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      response.flushHeaders()
      listeners.add(response)
      response.on('close', () => listeners.delete(response))
      return
    }
    for (const { payload } of body.data) {
      const line = `${JSON.stringify({ type: 'event', payload })}\n`
      for (const listener of listeners) listener.write(line)
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{}')
  })
})
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port))
process.stdin.resume().on('end', () => process.exit())
