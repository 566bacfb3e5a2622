import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gaugeIn } from '../../scripts/attack/account.ts'
import { readArguments } from '../../scripts/attack/arguments.ts'
import type { Goal } from '../../scripts/attack/attack.ts'
import { AttackClock, type NodeSample } from '../../scripts/attack/attack-clock.ts'
import type { BystanderReport, Timing } from '../../scripts/attack/bystander-report.ts'
import { places } from '../../scripts/attack/cgroup.ts'
import { frame, frameHead, framesIn, opcodes } from '../../scripts/attack/raw-websocket.ts'
import { Tally } from '../../scripts/attack/tally.ts'
import { type Bars, type Findings, judge } from '../../scripts/attack/verdict.ts'
import { Latencies } from '../../scripts/load/latencies.ts'

const names = ['one', 'two', 'three']
const timing: Timing = { count: 10, p50: 5, p99: 9 }
const untouched: BystanderReport = {
  publish: timing,
  query: timing,
  emptyQuery: timing,
  recovered: 3,
  unrecovered: 0,
  errors: [],
  subscriptionProblem: undefined,
  afterwardsProblem: undefined,
}
const withstood: Findings = {
  ending: undefined,
  isKilled: false,
  beforeMb: 130,
  peakMb: 800,
  afterMb: 300,
  readyAfterMs: 20,
  bystander: untouched,
  broken: [],
  loggedErrors: 0,
}
const bars: Bars = { accountMb: 500, emptyQueryMs: undefined, isConfined: false }

test('an attack passes within the limits, and with 503 responses that succeed on retry', () => {
  assert.deepEqual(judge(withstood, bars), [])
  assert.deepEqual(judge({ ...withstood, peakMb: 850, afterMb: 850 }, bars), [])
})

test('exceeding any one of the limits fails an attack', () => {
  const cases: [Partial<Findings>, Partial<Bars>, RegExp][] = [
    [{ ending: 'exit code 134' }, {}, /^the process ended: exit code 134$/],
    [{ ending: 'SIGKILL', isKilled: true }, {}, /^the process took so much memory that it was killed$/],
    [{ peakMb: 851 }, {}, /^the peak of 851 MB is above 850 MB$/],
    [{ afterMb: 851 }, {}, /^851 MB are left afterwards/],
    [{ readyAfterMs: undefined }, {}, /^the node was not ready within 5 s/],
    [{ bystander: undefined }, {}, /^the bystander did not come to an end$/],
    [{ bystander: { ...untouched, errors: ['500'] } }, {}, /^the bystander got 1 errors, the first: 500$/],
    [{ bystander: { ...untouched, unrecovered: 2 } }, {}, /^no retry within 5 s mended the 503 of 2 requests$/],
    [{ bystander: { ...untouched, subscriptionProblem: 'gone' } }, {}, /^the bystander's subscription: gone$/],
    [{ bystander: { ...untouched, afterwardsProblem: 'late' } }, {}, /^the bystander afterwards: late$/],
    [{ bystander: { ...untouched, emptyQuery: { ...timing, p50: 101 } } }, { emptyQueryMs: 100 }, /took 101 ms/],
    // Without samples the limits were not tested.
    [{ bystander: { ...untouched, emptyQuery: { ...timing, p50: Number.NaN } } }, { emptyQueryMs: 100 }, /NaN ms/],
    [{ broken: ['a promise'] }, {}, /^a promise$/],
  ]
  for (const [findings, more, expected] of cases) {
    const problems = judge({ ...withstood, ...findings }, { ...bars, ...more })
    assert.equal(problems.length, 1, String(expected))
    assert.match(problems[0] ?? '', expected)
  }
})

test('a node with limited memory may reject requests of a bystander during an attack, but must not fail them', () => {
  const confined = { ...bars, isConfined: true }
  assert.deepEqual(judge({ ...withstood, peakMb: 900, bystander: { ...untouched, unrecovered: 2 } }, confined), [])
  const errors = judge({ ...withstood, bystander: { ...untouched, errors: ['500'] } }, confined)
  assert.equal(errors.length, 1)
})

test('arguments have defaults, and the minutes are split between the attacks', () => {
  const { seed, ...rest } = readArguments([], names)
  assert.match(seed, /^\d+$/)
  assert.deepEqual(rest, {
    seconds: 2,
    only: [],
    heap: undefined,
    nofile: undefined,
    cgroup: undefined,
    memoryLimit: undefined,
    keepGoing: false,
  })
  assert.equal(readArguments(['--minutes', '10'], names).seconds, 192)
  assert.equal(readArguments(['--minutes', '10', '--only', 'two,three'], names).seconds, 292)
  assert.equal(readArguments(['--minutes', '0.1'], names).seconds, 2)
  assert.equal(readArguments(['--nofile', '256', '--heap', '64'], names).nofile, 256)
})

test('invalid arguments are refused with the allowed values', () => {
  assert.throws(() => readArguments(['--only', 'four'], names), /there is no attack 'four'; there are one, two, three/)
  assert.throws(() => readArguments(['--seconds', '-1'], names))
  assert.throws(() => readArguments(['--heap', 'many'], names), /--heap: 'many' is not a number above 0/)
  assert.throws(() => readArguments(['--nofile', '0'], names), /is not a number above 0/)
  assert.throws(() => readArguments(['--seconds', '1', '--minutes', '1'], names), /not both/)
  assert.throws(() => readArguments(['--unknown'], names))
})

/** The clock of a two-second attack at a given time: its state, and whether it is over. */
function clockWith(goal: Goal) {
  let now = 0
  const tally = new Tally()
  const clock = new AttackClock(goal, tally, 2000, () => now)
  return (ms: number, sample: NodeSample, bytes: number): boolean => {
    now = ms
    tally.bytes = bytes
    return clock.isOver(sample)
  }
}

test('an attack lasts for its duration, until its goal is reached and memory has stopped growing', () => {
  const isOver = clockWith({ megabytes: 1 })
  assert.equal(isOver(1000, { peakMb: 100, cpuMs: 5000 }, 2e6), false)
  assert.equal(isOver(2000, { peakMb: 200, cpuMs: 6000 }, 2e6), false)
  assert.equal(isOver(2900, { peakMb: 201, cpuMs: 6900 }, 2e6), false)
  assert.equal(isOver(3000, { peakMb: 202, cpuMs: 7000 }, 2e6), true)
})

test('an attack without progress continues while a busy machine slows down the node', () => {
  const isOver = clockWith({ megabytes: 1 })
  assert.equal(isOver(1000, { peakMb: 100, cpuMs: 100 }, 10), false)
  assert.equal(isOver(9000, { peakMb: 100, cpuMs: 1500 }, 10), false)
  assert.equal(isOver(12_000, { peakMb: 100, cpuMs: 3100 }, 10), true)
})

test('an attack on an idle node is over', () => {
  const isOver = clockWith({ megabytes: 1 })
  assert.equal(isOver(1900, { peakMb: 100, cpuMs: 100 }, 10), false)
  assert.equal(isOver(3300, { peakMb: 100, cpuMs: 200 }, 10), false)
  assert.equal(isOver(3400, { peakMb: 100, cpuMs: 200 }, 10), true)
})

test('an attack that never reaches its goal times out', () => {
  const isOver = clockWith({ megabytes: 1000 })
  for (let second = 1; second < 45; second++)
    assert.equal(isOver(second * 1000, { peakMb: 100, cpuMs: second * 1000 }, second), false)
  assert.equal(isOver(45_000, { peakMb: 100, cpuMs: 45_000 }, 45), true)
})

test('percentiles are computed from the sorted values, and NaN without values', () => {
  const latencies = new Latencies()
  assert.ok(Number.isNaN(latencies.within(0.5)))
  for (let n = 100; n > 0; n--) latencies.add(n)
  assert.equal(latencies.within(0.5), 51)
  assert.equal(latencies.within(0.99), 100)
})

test('responses are counted by kind', () => {
  const tally = new Tally()
  for (const answer of ['503', '200', '503']) tally.count(answer)
  assert.equal(tally.answers, '1 × 200, 2 × 503')
  assert.equal(tally.answered, 3)
  assert.equal(tally.answersOf(/^5/), 2)
})

test('gauges are parsed from the Prometheus text format', () => {
  const text = '# TYPE a gauge\na{x="1"} 5\na{x="2"} 7\nab 3\nb 1e3\n'
  assert.equal(gaugeIn(text, 'a'), 12)
  assert.equal(gaugeIn(text, 'b'), 1000)
  assert.equal(gaugeIn(text, 'c'), undefined)
})

test('client frames encode their length and the FIN bit', () => {
  assert.equal(frameHead(opcodes.ping, 0).toString('hex'), '898000000000')
  assert.equal(frameHead(opcodes.text, 300, false).toString('hex'), '01fe012c00000000')
  assert.equal(frameHead(opcodes.text, 65_536).toString('hex'), '81ff000000000001000000000000')
  assert.equal(frame(opcodes.text, 'é').toString('hex'), '818200000000c3a9')
})

test('server frames are parsed up to the close code, also when the last one is truncated', () => {
  const message = (text: string): Buffer => Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])
  const close = Buffer.from([0x88, 2, 0x03, 0xf5])
  assert.deepEqual(framesIn(Buffer.concat([message('a'), message('bc'), close])), { messages: ['a', 'bc'], code: 1013 })
  assert.deepEqual(framesIn(Buffer.from([0x88, 0])), { messages: [], code: 1005 })
  assert.deepEqual(framesIn(Buffer.from([0x81, 5, 0x61])), { messages: ['a'], code: undefined })
  assert.deepEqual(framesIn(Buffer.from([0x81, 126, 0])), { messages: [], code: undefined })
})

test('a memory cgroup of version 1 is created below that of this process', () => {
  const own = '3:cpu,cpuacct:/a\n2:memory:/b\n1:name=systemd:/c\n'
  assert.deepEqual(places(own), [{ parent: '/sys/fs/cgroup/memory/b', file: 'memory.limit_in_bytes' }])
})
