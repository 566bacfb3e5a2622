// `npm run fuzz:http -- [--requests N] [--connections N] [--seed S]`: sends valid and malformed requests and WebSocket
// messages to a fresh node. It must respond to all of them, never with 500, and store exactly the events that it has
// acknowledged.
import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { Random } from './crash/random.ts'
import { type Answer, exchange } from './fuzz-http/exchange.ts'
import { Ledger } from './fuzz-http/ledger.ts'
import { anyRequest, type FuzzRequest } from './fuzz-http/request.ts'
import { SocketSession } from './fuzz-http/socket-session.ts'
import { NodeProcess } from './node-process.ts'

const appId = 'com.example.fuzz'
/** Concurrent requests. */
const clients = 8
/** Connections that stay open with an incomplete request. */
const unfinished = 100

interface Arguments {
  readonly requests: number
  readonly connections: number
  readonly seed: string
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      requests: { type: 'string', default: '10000' },
      connections: { type: 'string', default: '10000' },
      seed: { type: 'string' },
    },
  })
  const [requests, connections] = [Number(values.requests), Number(values.connections)]
  if (!Number.isSafeInteger(requests) || !Number.isSafeInteger(connections))
    throw new Error('--requests and --connections are numbers')
  return { requests, connections, seed: values.seed ?? String(Date.now()) }
}

function progress(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text} `)
}

/** The problem with a response, if there is one. */
function problemWith({ path, sending, endless }: FuzzRequest, answer: Answer | undefined): string | undefined {
  // A client that disconnects may get a response or not.
  if (sending === 'half') return undefined
  if (answer === undefined) return endless ? undefined : 'no answer'
  const { status, body } = answer
  if (status >= 500 && status !== 503) return `the status ${status}`
  if (body.includes('"code":"ERR_INTERNAL')) return 'an internal error'
  if (status >= 400 && status !== 403 && body !== '' && !body.startsWith('{"code":"ERR_')) return 'no error object'
  if (status === 200 && path.endsWith('/query')) for (const line of body.split('\n')) if (line !== '') JSON.parse(line)
  return undefined
}

class Fuzzer {
  readonly statuses = new Map<number, number>()
  readonly ledger = new Ledger()
  /** Responses lost to a connection reset, because the node did not read the rest of the request. */
  resets = 0
  readonly #node: NodeProcess
  readonly #token: string
  readonly #seed: string
  #done = 0

  constructor(node: NodeProcess, token: string, seed: string) {
    this.#node = node
    this.#token = token
    this.#seed = seed
  }

  async requests(count: number): Promise<void> {
    const client = async (number: number): Promise<void> => {
      const random = new Random(`${this.#seed} ${number}`)
      while (this.#done < count) {
        this.#done++
        await (random.chance(0.1) ? this.#session(random) : this.#request(random))
        if (this.#done % 100 === 0) progress(`${this.#done} requests, ${this.ledger.size} events`)
      }
    }
    await Promise.all(Array.from({ length: clients }, (_, number) => client(number)))
  }

  /** Sequential connections: closed at once, filled with garbage, or used once. */
  async connections(count: number): Promise<void> {
    const random = new Random(`${this.#seed} connections`)
    for (let done = 1; done <= count; done++) {
      const socket = connect(this.#node.port, '127.0.0.1')
      socket.on('error', () => {})
      const text = random.pick([
        '',
        'rubbish\r\n\r\n',
        'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      ])
      if (text === '') socket.once('connect', () => socket.destroy())
      else socket.resume().write(text)
      await new Promise((resolve) => socket.once('close', resolve))
      if (done % 100 === 0) progress(`${done} connections`)
    }
  }

  async #session(random: Random): Promise<void> {
    await new SocketSession(this.#node.url, this.#token, random, this.ledger).run(random.below(20) + 1)
  }

  async #request(random: Random): Promise<void> {
    const request = anyRequest(random, this.#token)
    const answer = await exchange(this.#node.port, request)
    if (answer === 'reset') {
      this.resets++
      return
    }
    const problem = problemWith(request, answer)
    if (problem !== undefined)
      throw new Error(
        `${problem} to ${request.bytes.toString('latin1').slice(0, 2000)}\n${answer?.body.slice(0, 1000)}`,
      )
    if (answer === undefined) return
    this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1)
    const isPublish = /\/publish\/?$/.test(request.path) && request.method === 'POST'
    if (isPublish && answer.status === 200) this.ledger.add(JSON.parse(answer.body))
  }
}

/** Keeps connections with incomplete requests open. */
function halfRequests(port: number): () => void {
  const head = 'POST /api/v2/events/publish HTTP/1.1\r\nHost: localhost\r\n'
  const sockets = Array.from({ length: unfinished }, (_, i) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(i % 2 === 0 ? head : `${head}Content-Length: 100\r\n\r\n{"data":[`)
    return socket
  })
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}

async function fuzz(node: NodeProcess, { requests, connections, seed }: Arguments): Promise<void> {
  const token = await node.token(appId)
  const fuzzer = new Fuzzer(node, token, seed)
  const release = halfRequests(node.port)
  try {
    await fuzzer.requests(requests)
    await fuzzer.connections(connections)
    if (!node.isRunning) throw new Error('the node has ended')
    await fuzzer.ledger.compare(node.url, token, appId)
    const errors = node.log.split('\n').filter((line) => / ERROR /.test(line))
    if (errors.length > 0) throw new Error(`the node logged ${errors.length} errors:\n${errors.slice(0, 5).join('\n')}`)
  } finally {
    release()
  }
  const statuses = [...fuzzer.statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`)
  console.log(`\n${requests} requests (${statuses.join(', ')}, ${fuzzer.resets} resets), ${connections} connections`)
  console.log(`${fuzzer.ledger.size} events were published, and all of them and no others are there`)
}

const given = readArguments()
console.log(`seed ${given.seed}`)
const node = await NodeProcess.start()
try {
  await fuzz(node, given)
} finally {
  if (!node.isRunning) console.error(node.log.slice(-4000))
  await node.stop()
}
