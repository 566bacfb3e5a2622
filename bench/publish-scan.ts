import { PublishScanner } from '../src/events/publish/publish-scanner.ts'
import { RoutingTable } from '../src/events/routing-table.ts'

/**
 * CPU time of scanning a publish call, per event, compared with `JSON.parse` of the same bytes:
 * `node bench/publish-scan.ts`.
 */
const unrouted = new RoutingTable([], new Map())
const routed = new RoutingTable([{ from: "'machine' & 'order'", into: 'orders' }], new Map([['orders', 1]]))
const rounds = 300
const perCall = 1000

const payload = (i: number) => ({
  type: 'orderStarted',
  order: `order-${i}`,
  machine: { id: `machine-${i % 20}`, speed: i * 1.5, state: 'running' },
  values: [i, i + 1, i + 2, null, true],
  comment: 'the quick brown fox jumps over the lazy dog',
})
const shared = (i: number) => ['machine', `machine:${i % 20}`, 'order']
const unique = (i: number) => ['machine', `order:${i}`, `part:${i}`]

function body(tags: (i: number) => string[], indent: number): Buffer {
  const data = Array.from({ length: perCall }, (_, i) => ({ tags: tags(i), payload: payload(i) }))
  return Buffer.from(JSON.stringify({ data }, undefined, indent))
}

function microsPerEvent(work: () => void): number {
  for (let i = 0; i < rounds / 3; i++) work()
  const started = process.cpuUsage()
  for (let i = 0; i < rounds; i++) work()
  const { user, system } = process.cpuUsage(started)
  return (user + system) / (rounds * perCall)
}

const cases = {
  'tags shared by events': [body(shared, 0), unrouted],
  'tags of their own': [body(unique, 0), unrouted],
  'with a route': [body(shared, 0), routed],
  'indented by two': [body(shared, 2), unrouted],
} as const
for (const [name, [bytes, routes]] of Object.entries(cases)) {
  const scan = microsPerEvent(() => {
    for (const _ of new PublishScanner(bytes, 'com.example.app', routes).whole(bytes.length));
  })
  const parse = microsPerEvent(() => {
    JSON.parse(bytes.toString('utf8'))
  })
  const size = Math.round(bytes.length / perCall)
  console.log(`${name}: ${size} bytes/event, scan ${scan.toFixed(2)} µs, JSON.parse ${parse.toFixed(2)} µs`)
}
