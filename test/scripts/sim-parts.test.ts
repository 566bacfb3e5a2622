import assert from 'node:assert/strict'
import { test } from 'node:test'
import { coverageProblems, unreachedRanges } from '../../scripts/sim/coverage.ts'
import { coverageExceptions } from '../../scripts/sim/coverage-exceptions.ts'
import {
  checkUnaltered,
  compareKeys,
  eventOf,
  isReaction,
  newStartOf,
  reactionTo,
} from '../../scripts/sim/event-lines.ts'
import { Ledger } from '../../scripts/sim/ledger.ts'
import { isLinked, scenarioOf, shapeNames } from '../../scripts/sim/scenario.ts'
import { commandLineOf, shrink } from '../../scripts/sim/shrink.ts'
import { signatureScheme } from '../../scripts/sim/signatures.ts'
import { firstDifference, Trace } from '../../scripts/sim/trace.ts'
import { heads, MalformedBytes, sha256 } from '../../src/protocol/index.ts'
import { compareEventKeys } from '../../src/replication/index.ts'
import * as fc from '../support/property.ts'

const seed = fc.uint8Array({ minLength: 32, maxLength: 32 })

test('a stand-in signature is valid for its key and message only', () => {
  fc.assert(
    fc.property(seed, seed, fc.uint8Array(), fc.uint8Array(), (a, b, message, other) => {
      fc.pre(Buffer.compare(a, b) !== 0 && Buffer.compare(message, other) !== 0)
      const scheme = signatureScheme('stand-in')
      const [key, another] = [scheme.keyPair(a), scheme.keyPair(b)]
      const signature = key.sign(message)
      assert.equal(signature.length, 64)
      assert.ok(scheme.isSigned(key.publicKey, message, signature))
      assert.ok(!scheme.isSigned(key.publicKey, other, signature))
      assert.ok(!scheme.isSigned(another.publicKey, message, signature))
      assert.ok(!signatureScheme('stand-in').isSigned(key.publicKey, message, signature))
    }),
    { numRuns: 20 },
  )
})

test('the product verifies by the installed scheme, and by Ed25519 again afterwards', () => {
  const [standIn, ed25519] = [signatureScheme('stand-in'), signatureScheme('ed25519')]
  const signedBy = (scheme: typeof standIn): Buffer => {
    const key = scheme.keyPair(Buffer.alloc(32, 5))
    const stream = { node: key.publicKey, number: 0 }
    return heads.sign(
      { topic: 't', stream, time: 1, count: 1, lamport: 1, hash: sha256(key.publicKey), checkpoint: false },
      key,
    )
  }
  const [cheap, real] = [signedBy(standIn), signedBy(ed25519)]
  standIn.install()
  try {
    assert.equal(heads.verify(cheap).count, 1)
    assert.throws(() => heads.verify(real), MalformedBytes)
  } finally {
    ed25519.install()
  }
  assert.equal(heads.verify(real).count, 1)
  assert.throws(() => heads.verify(cheap), MalformedBytes)
})

test('the total order of the simulator is that of the product', () => {
  const key = fc.record({
    lamport: fc.nat(3),
    stream: fc.tuple(fc.constantFrom('A', 'B', 'a', '.'), fc.nat(20)).map(([node, number]) => `${node}-${number}`),
  })
  fc.assert(
    fc.property(key, key, (a, b) => {
      assert.equal(Math.sign(compareKeys(a, b)), Math.sign(compareEventKeys(a, b)))
    }),
  )
})

test('a trace names the first line that differs', () => {
  const traceOf = (texts: readonly string[]): Trace => {
    const trace = new Trace(() => 7, true)
    for (const text of texts) trace.note(text)
    return trace
  }
  const [a, b, same] = [traceOf(['x', 'y']), traceOf(['x', 'z']), traceOf(['x', 'y'])]
  assert.equal(a.digest, same.digest)
  assert.notEqual(a.digest, b.digest)
  assert.equal(firstDifference(a.lines ?? [], same.lines ?? []), undefined)
  assert.equal(firstDifference(a.lines ?? [], b.lines ?? []), 'line 2: 7 y / 7 z')
  assert.equal(firstDifference(['x'], ['x', 'y']), 'line 2: nothing / y')
})

function lineOf(stream: string, offset: number, payload: string, lamport = 9): string {
  const start = `{"type":"event","lamport":${lamport},"stream":"${stream}","offset":${offset}`
  return `${start},"timestamp":1,"tags":["sim"],"appId":"com.example.a","payload":${payload}}`
}

test('lines of events and of time travel are told apart', () => {
  const line = lineOf('node-3', 4, '1')
  assert.deepEqual(eventOf(line), { lamport: 9, stream: 'node-3', offset: 4, line })
  assert.equal(eventOf('{"type":"offsets","offsets":{}}'), undefined)
  assert.throws(() => eventOf('{"type":"event","key":1}'), /begins otherwise/)
  const newStart = { lamport: 1, stream: 'node-3', offset: 0 }
  assert.deepEqual(newStartOf(JSON.stringify({ type: 'timeTravel', newStart })), newStart)
  assert.equal(newStartOf(line), undefined)
})

test('an event that differs from what was published is noticed', () => {
  const ledger = new Ledger()
  ledger.addNode('node')
  const cause = { lamport: 5, stream: 'node-1', offset: 0, line: '' }
  const reaction = reactionTo(cause, 'n0')
  ledger.add('node-0', 0, ['{"id":1}', reaction])
  const check = (line: string) => () => {
    const event = eventOf(line)
    assert.ok(event !== undefined)
    checkUnaltered(event, ledger, 'n0')
  }
  check(lineOf('node-0', 0, '{"id":1}'))()
  check(lineOf('node-0', 1, reaction, 6))()
  check(lineOf('other-0', 0, '"anything"'))()
  assert.throws(check(lineOf('node-0', 0, '{"id":2}')), /another event/)
  assert.throws(check(lineOf('node-0', 2, '{"id":1}')), /not published/)
  assert.throws(check(lineOf('node-0', 1, reaction, 5)), /sorts before its cause/)
  assert.ok(isReaction({ ...cause, line: lineOf('node-0', 1, reaction) }))
  assert.ok(!isReaction({ ...cause, line: lineOf('node-0', 0, '{"id":1}') }))
})

test('every shape connects all nodes', () => {
  for (const shape of shapeNames)
    for (let nodes = 2; nodes < 12; nodes++) {
      const all = Array.from({ length: nodes }, (_, i) => i)
      const neighbours = (a: number): number[] =>
        all.filter((b) => a !== b && isLinked(shape, Math.min(a, b), Math.max(a, b), nodes))
      const reached = new Set([0])
      // A set is iterated including what is added meanwhile.
      for (const node of reached) for (const next of neighbours(node)) reached.add(next)
      assert.equal(reached.size, nodes, `${shape} of ${nodes}`)
    }
})

test('a failing scenario is shrunk to what it needs to fail', async () => {
  const scenario = scenarioOf('1', { nodes: 10, publishes: 40 })
  const smallest = await shrink(scenario, ['loss', 'delay', 'restarts'], async ({ nodes, publishes, without }) => {
    return nodes >= 4 && publishes >= 7 && !without.includes('delay')
  })
  assert.deepEqual([smallest.nodes, smallest.publishes, smallest.without], [4, 7, ['loss', 'restarts']])
  assert.match(commandLineOf(smallest), /^--seed 1 --nodes 4 --publishes 7 .* --without loss,restarts$/)
})

test('unreached branches are the outermost ranges that were never run', () => {
  const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count })
  const [outer, inner, reached] = [range(10, 20, 0), range(12, 14, 0), range(0, 100, 3)]
  assert.deepEqual(unreachedRanges([reached, outer, inner]), [outer])
})

test('an exception covers an unreached branch, and one that no longer fits the source is reported', () => {
  const unreached = [{ file: 'a.ts', line: 3, text: 'return x\n}', lineText: 'if (y) return x' }]
  const problems = (exceptions: Parameters<typeof coverageProblems>[1]): string[] =>
    coverageProblems(unreached, exceptions, () => 'if (y) return x')
  assert.deepEqual(problems([]), ['a.ts:3: return x'])
  assert.deepEqual(problems([{ file: 'a.ts', text: 'return x', reason: '' }]), [])
  assert.deepEqual(problems([{ file: 'a.ts', text: 'if (y)', reason: '' }]), [])
  assert.deepEqual(problems([{ file: 'a.ts', text: '', reason: '' }]), [])
  assert.deepEqual(problems([{ file: 'a.ts', text: 'return z', reason: '' }]), [
    'a.ts:3: return x',
    "a.ts: the exception 'return z' no longer fits",
  ])
})

test('every exception fits the source, and has a reason', () => {
  assert.deepEqual(coverageProblems([]), [])
  for (const { file, reason } of coverageExceptions) assert.ok(reason.length > 0, file)
})
