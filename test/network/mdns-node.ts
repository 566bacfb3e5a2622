// A host that finds peers by mDNS and connects to them, for a namespace of a test. Reports what happens as lines of JSON.
import { KeyPair } from '../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Host } from '../../src/swarm/host/index.ts'

interface Options {
  readonly seed: number
  readonly listen: { host: string; port: number }[]
  readonly swarmKey: number
  readonly topic: string
}

const { seed, listen, swarmKey, topic } = JSON.parse(process.argv[2] ?? '{}') as Options

function report(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}

function seedOf(name: string): number {
  const seeds = Array.from({ length: 32 }, (_, i) => i)
  return seeds.find((other) => Buffer.from(keyOf(other).publicKey).toString('latin1') === name) ?? -1
}

function keyOf(of: number): KeyPair {
  return new KeyPair(Buffer.alloc(32, of))
}

const sink = { write: (text: string) => report({ log: text }), flush: async () => {} }
const dialled = new Set<string>()
const host = await Host.start({
  key: keyOf(seed),
  swarmKey: Buffer.alloc(32, swarmKey).toString('base64'),
  topic,
  listen,
  announce: [],
  agent: `Node ${seed}`,
  mdns: true,
  runtime: systemRuntime,
  log: new Logger(logOutput(textLine(false), sink, systemRuntime.clock), 'swarm'),
  onFound: (peer, addresses) => {
    report({ found: seedOf(peer), addresses })
    for (const address of addresses) {
      if (dialled.has(address)) continue
      dialled.add(address)
      host.dial(peer, address, new AbortController().signal).then(
        (session) => report({ dialled: seedOf(session.peer), address }),
        (error: Error) => report({ failed: seedOf(peer), address, reason: error.message }),
      )
    }
  },
  onSession: () => {},
  onInboundFailure: (address, reason) => report({ inboundFailure: address, reason }),
})
report({ listening: host.addresses })
process.on('SIGTERM', () => void host.stop().then(() => report({ stopped: true })))
process.stdin.on('data', (text) => {
  if (text.includes('off')) void host.setMdns(false).then(() => report({ mdns: false }))
  if (text.includes('on')) void host.setMdns(true).then(() => report({ mdns: true }))
})
process.stdin.unref?.()
