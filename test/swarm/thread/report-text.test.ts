import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeIdOfPeer } from '../../../src/swarm/peers/index.ts'
import { reportText } from '../../../src/swarm/thread/report-text.ts'
import { rowOf } from '../../sync/support.ts'

const peer = 'p'.repeat(32)
const id = nodeIdOfPeer(peer)
const { key: stream } = rowOf(1, 5, 3)

test('a report names the peer and the stream', () => {
  for (const is of ['fork', 'own-stream-ahead', 'too-far-ahead'] as const) {
    const text = reportText({ do: 'report', is, stream, peer })
    assert.ok(text.startsWith(`${id} `), text)
    assert.ok(text.includes(`${nodeIdOfPeer(Buffer.from(stream.node).toString('latin1'))}-3`), text)
  }
})

test('features that a peer requires are named, escaped and few', () => {
  const of = (...features: string[]): string => reportText({ do: 'report', is: 'unknown-features', features, peer })
  assert.equal(of('teleport'), `${id} requires what this version cannot do: "teleport"; update this node`)
  assert.match(of('a', 'b\n"x"\u001b[2J'), /: "a", "b\\n\\"x\\"\\u001b\[2J"; update/)
  assert.match(of(...'abcdef'), /"a", "b", "c", "d" and 2 more; update/)
})
