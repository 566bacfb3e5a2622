import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../support/process.ts'

// Multicast only in namespaces of the test's own, never on the interfaces of the machine.
const skip = process.getuid?.() === 0 ? false : 'network namespaces need root'

const program = fileURLToPath(new URL('./mdns-node.ts', import.meta.url))

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

interface Machine {
  readonly name: string
  readonly index: number
}

let made = 0

/** A namespace of its own, with its loopback interface up. */
function machine(t: TestContext): Machine {
  const index = ++made
  const name = `shoal-${process.pid}-m${index}`
  ip('netns', 'add', name)
  t.after(() => ip('netns', 'delete', name))
  ip('-n', name, 'link', 'set', 'lo', 'up')
  return { name, index }
}

/** Connects machines by a bridge in a namespace of its own. `families` are the addresses that they get. */
function network(
  t: TestContext,
  machines: readonly Machine[],
  subnet: number,
  families: readonly (4 | 6)[] = [4, 6],
): void {
  const { name: bridge } = machine(t)
  const device = `net${subnet}`
  ip('-n', bridge, 'link', 'add', 'br0', 'type', 'bridge')
  ip('-n', bridge, 'link', 'set', 'br0', 'up')
  for (const { name, index } of machines) {
    const port = `port${index}`
    ip('-n', name, 'link', 'add', device, 'type', 'veth', 'peer', 'name', port, 'netns', bridge)
    ip('-n', bridge, 'link', 'set', port, 'master', 'br0', 'up')
    if (families.includes(4)) ip('-n', name, 'address', 'add', `10.${subnet}.0.${index}/24`, 'dev', device)
    // `nodad`: duplicate address detection would delay the use of the address.
    if (families.includes(6)) ip('-n', name, 'address', 'add', `fd${subnet}::${index}/64`, 'dev', device, 'nodad')
    ip('-n', name, 'link', 'set', device, 'up')
  }
}

interface NodeOptions {
  readonly seed: number
  readonly listen?: readonly { host: string; port: number }[]
  readonly swarmKey?: number
  readonly topic?: string
}

type Report = Record<string, unknown> & { readonly addresses?: string[] }

/** A host in a namespace, with what it has reported. */
class NetworkNode {
  readonly child: ChildProcess
  readonly reports: Report[] = []
  #rest = ''

  constructor(t: TestContext, { name }: Machine, { seed, listen, swarmKey = 5, topic = 't' }: NodeOptions) {
    const everywhere = [
      { host: '0.0.0.0', port: 4000 + seed },
      { host: '::', port: 4000 + seed },
    ]
    const options = JSON.stringify({ seed, listen: listen ?? everywhere, swarmKey, topic })
    const args = ['netns', 'exec', name, process.execPath, program, options]
    this.child = spawn('ip', args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    t.after(async () => {
      if (this.child.exitCode !== null || this.child.signalCode !== null) return
      const closed = once(this.child, 'close')
      this.child.kill('SIGKILL')
      await closed
    })
  }

  tell(command: 'on' | 'off'): void {
    this.child.stdin?.write(`${command}\n`)
  }

  async reported(what: string, matches: (report: Report) => boolean, from = 0): Promise<Report> {
    return await until(
      () => this.reports.slice(from).find(matches),
      () => `${what} was not reported:\n${this.reports.map((report) => JSON.stringify(report)).join('\n')}`,
      () => this.child.exitCode !== null,
    )
  }

  /** Waits until it is connected to another node by its own dial. */
  async connectedTo(seed: number, from = 0): Promise<string> {
    return String((await this.reported(`connection to ${seed}`, ({ dialled }) => dialled === seed, from))['address'])
  }

  async found(seed: number, from = 0): Promise<readonly string[]> {
    return (await this.reported(`node ${seed}`, ({ found }) => found === seed, from)).addresses ?? []
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    this.reports.push(...lines.map((line) => JSON.parse(line) as Report))
  }
}

test('nodes of one network find each other without configuration, others are not seen', { skip }, async (t) => {
  const machines = [machine(t), machine(t), machine(t), machine(t)]
  network(t, machines, 61)
  const [first, second, third, fourth] = machines as [Machine, Machine, Machine, Machine]
  const otherKey = new NetworkNode(t, third, { seed: 3, swarmKey: 6 })
  const otherTopic = new NetworkNode(t, fourth, { seed: 4, topic: 'u' })
  const a = new NetworkNode(t, first, { seed: 1 })
  const b = new NetworkNode(t, second, { seed: 2 })
  await a.connectedTo(2)
  await b.connectedTo(1)
  assert.deepEqual((await a.found(2)).toSorted(), [
    `/ip4/10.61.0.${second.index}/tcp/4002`,
    `/ip6/fd61::${second.index}/tcp/4002`,
  ])
  // A peer is reported again and again.
  const { length } = a.reports
  await a.found(2, length)
  for (const { reports } of [a, b, otherKey, otherTopic])
    assert.deepEqual(
      reports.filter(
        ({ found, log, failed }) => found === 3 || found === 4 || log !== undefined || failed !== undefined,
      ),
      [],
    )
  for (const { reports } of [otherKey, otherTopic])
    assert.equal(reports.filter(({ found }) => found !== undefined).length, 0)
})

test('nodes find each other where there is only IPv6', { skip }, async (t) => {
  const machines = [machine(t), machine(t)]
  network(t, machines, 62, [6])
  const [first, second] = machines as [Machine, Machine]
  const a = new NetworkNode(t, first, { seed: 1 })
  new NetworkNode(t, second, { seed: 2 })
  assert.equal(await a.connectedTo(2), `/ip6/fd62::${second.index}/tcp/4002`)
})

test('a node with two interfaces is found on both, with the addresses of each', { skip }, async (t) => {
  const [middle, left, right] = [machine(t), machine(t), machine(t)]
  network(t, [middle, left], 63)
  network(t, [middle, right], 64)
  new NetworkNode(t, middle, { seed: 1 })
  const a = new NetworkNode(t, left, { seed: 2 })
  const b = new NetworkNode(t, right, { seed: 3 })
  await a.connectedTo(1)
  await b.connectedTo(1)
  for (const address of await a.found(1)) assert.match(address, /^\/ip4\/10\.63\.|^\/ip6\/fd63:/)
  for (const address of await b.found(1)) assert.match(address, /^\/ip4\/10\.64\.|^\/ip6\/fd64:/)
})

test('several nodes of one machine find each other, also without any network', { skip }, async (t) => {
  const alone = machine(t)
  const [a, b, c] = [1, 2, 3].map((seed) => new NetworkNode(t, alone, { seed })) as [
    NetworkNode,
    NetworkNode,
    NetworkNode,
  ]
  await a.connectedTo(2)
  await b.connectedTo(3)
  await c.connectedTo(1)
})

test('nodes meet when an interface appears, also when another one has gone', { skip }, async (t) => {
  const machines = [machine(t), machine(t)]
  const [first, second] = machines as [Machine, Machine]
  const a = new NetworkNode(t, first, { seed: 1 })
  const b = new NetworkNode(t, second, { seed: 2 })
  await a.reported('start', ({ listening }) => listening !== undefined)
  await b.reported('start', ({ listening }) => listening !== undefined)
  network(t, machines, 65)
  await a.connectedTo(2)
  ip('-n', second.name, 'link', 'delete', 'net65')
  const third = machine(t)
  network(t, [second, third], 66)
  const c = new NetworkNode(t, third, { seed: 3 })
  assert.deepEqual((await c.found(2)).toSorted(), [
    `/ip4/10.66.0.${second.index}/tcp/4002`,
    `/ip6/fd66::${second.index}/tcp/4002`,
  ])
})

test('mDNS that is switched off finds nothing and announces nothing', { skip }, async (t) => {
  const machines = [machine(t), machine(t), machine(t)]
  network(t, machines, 69)
  const [first, second, third] = machines as [Machine, Machine, Machine]
  const a = new NetworkNode(t, first, { seed: 1 })
  await a.reported('start', ({ listening }) => listening !== undefined)
  a.tell('off')
  await a.reported('off', ({ mdns }) => mdns === false)
  const b = new NetworkNode(t, second, { seed: 2 })
  const c = new NetworkNode(t, third, { seed: 3 })
  // Both have asked and announced themselves more than once.
  await b.found(3)
  await b.found(3, b.reports.length)
  await c.found(2, c.reports.length)
  for (const { reports } of [b, c]) assert.equal(reports.filter(({ found }) => found === 1).length, 0)
  assert.equal(a.reports.filter(({ found }) => found !== undefined).length, 0)
  a.tell('on')
  await b.connectedTo(1)
  a.child.kill('SIGTERM')
  await a.reported('stop', ({ stopped }) => stopped === true)
})
