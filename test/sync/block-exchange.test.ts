import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { type BlockEffect, BlockExchange, type ExchangeMessage, type StoreBlock } from '../../src/sync/index.ts'

const timeoutMs = 15_000

function newExchange(): BlockExchange {
  return new BlockExchange({ timeoutMs, random: () => 0.5 })
}

const cid = (i: number): Uint8Array => Buffer.concat([Buffer.of(1, 0x70, 0x12, 0x20), Buffer.alloc(32, i)])
const cids = (count: number, from = 0): Uint8Array[] => Array.from({ length: count }, (_, i) => cid(from + i))
const numbersOf = (list: readonly Uint8Array[]): number[] => list.map((bytes) => bytes[4] ?? -1)

/** The blocks in the messages of a kind to a peer, by their numbers. */
function sent(effects: readonly BlockEffect[], is: ExchangeMessage['is'], to: string): number[] {
  return effects.flatMap((effect) => {
    if (effect.do !== 'send' || effect.to !== to || effect.message.is !== is) return []
    return numbersOf(effect.message.is === 'block' ? [effect.message.cid] : effect.message.cids)
  })
}

const wanted = (effects: readonly BlockEffect[], to: string): number[] => sent(effects, 'wantBlocks', to)
const read = (effects: readonly BlockEffect[]): number[] =>
  numbersOf(effects.flatMap((effect) => (effect.do === 'readBlock' ? [effect.cid] : [])))
const closed = (effects: readonly BlockEffect[]): string[] =>
  effects.flatMap((effect) => (effect.do === 'close' ? [`${effect.peer}: ${effect.reason}`] : []))

function list(exchange: BlockExchange, wants: readonly Uint8Array[], now = 0): BlockEffect[] {
  return exchange.listed({ cids: wants, isEnd: true, hasRoom: true }, now)
}

/** An exchange with peers that wants some blocks; with what it does then. */
function wanting(count: number, ...peers: string[]): { exchange: BlockExchange; effects: BlockEffect[] } {
  const exchange = newExchange()
  for (const peer of peers) exchange.connected(peer, 0)
  return { exchange, effects: list(exchange, cids(count)) }
}

function storeOf(effects: readonly BlockEffect[]): StoreBlock {
  const found = effects.flatMap((effect) => (effect.do === 'storeBlock' ? [effect] : []))
  assert.equal(found.length, 1)
  return found[0] as StoreBlock
}

const block = (i: number): ExchangeMessage => ({ is: 'block', cid: cid(i), bytes: Buffer.from('block') })
const notHere = (...numbers: number[]): ExchangeMessage => ({ is: 'blocksNotHere', cids: numbers.map(cid) })
const have = (...numbers: number[]): ExchangeMessage => ({ is: 'haveBlocks', cids: numbers.map(cid) })

test('wanted blocks are listed when the first peer connects, and not while there is none', () => {
  const exchange = newExchange()
  assert.deepEqual(exchange.wantsChanged(0), [])
  assert.equal(exchange.wakeAt, Number.POSITIVE_INFINITY)
  assert.deepEqual(exchange.connected('a', 0), [{ do: 'listWants', from: 'start' }])
  assert.deepEqual(exchange.wantsChanged(0), [])
})

test('blocks are asked for in order, with a limit per peer', () => {
  const { effects } = wanting(40, 'a')
  assert.deepEqual(wanted(effects, 'a'), numbersOf(cids(limits.blockRequestsPerPeer)))
})

test('requests are spread over peers, with a limit in all, and no block is asked for twice', () => {
  const peers = Array.from({ length: 8 }, (_, i) => `peer ${i}`)
  const { exchange, effects } = wanting(200, ...peers)
  const asked = peers.map((peer) => wanted(effects, peer))
  assert.deepEqual(
    asked.flat().sort((a, b) => a - b),
    numbersOf(cids(limits.blockRequests)),
  )
  for (const numbers of asked) assert.equal(numbers.length, limits.blockRequests / peers.length)
  assert.equal(exchange.inProgress, limits.blockRequests)
})

test('the next blocks are listed when few are left, and the first ones again when wants have changed', () => {
  const exchange = newExchange()
  exchange.connected('a', 0)
  const effects = exchange.listed({ cids: cids(20), isEnd: false, hasRoom: true }, 0)
  assert.deepEqual(effects.at(-1), { do: 'listWants', from: 'next' })
  assert.deepEqual(exchange.listed({ cids: cids(100, 20), isEnd: false, hasRoom: true }, 0), [])
  assert.deepEqual(exchange.wantsChanged(10), [])
  assert.equal(exchange.wakeAt, limits.newWantScanMs)
  assert.deepEqual(exchange.tick(limits.newWantScanMs), [{ do: 'listWants', from: 'start' }])
})

test('a stored block makes room for the next one, and blocks that it links to are asked for', () => {
  const { exchange } = wanting(1, 'a')
  const effects = exchange.received('a', block(0), 5)
  assert.deepEqual(exchange.stored(storeOf(effects), 'stored', [cid(7), cid(8)], 6), [
    { do: 'send', to: 'a', message: { is: 'wantBlocks', cids: [cid(7), cid(8)] } },
  ])
})

test('a block that a peer does not have is asked for from another one, and again when the peer has it', () => {
  const { exchange } = wanting(1, 'a')
  assert.deepEqual(exchange.received('a', notHere(0), 1), [])
  assert.deepEqual(wanted(exchange.received('a', have(0), 2), 'a'), [0])
  exchange.received('a', notHere(0), 3)
  exchange.connected('b', 4)
  exchange.tick(limits.newWantScanMs)
  assert.deepEqual(wanted(list(exchange, cids(1), limits.newWantScanMs), 'b'), [0])
})

test('a peer that did not have a block is asked again after some time', () => {
  const { exchange } = wanting(1, 'a')
  exchange.received('a', notHere(0), 0)
  for (let now = exchange.wakeAt; now < limits.blockNotHereMs; now = exchange.wakeAt) {
    assert.deepEqual(exchange.tick(now), [{ do: 'listWants', from: 'start' }])
    assert.deepEqual(wanted(list(exchange, cids(1), now), 'a'), [])
  }
  const now = exchange.wakeAt
  exchange.tick(now)
  assert.deepEqual(wanted(list(exchange, cids(1), now), 'a'), [0])
})

test('what a peer says about blocks that it was not asked for is ignored', () => {
  const { exchange } = wanting(1, 'a', 'b')
  for (const message of [notHere(5), have(5), block(5)]) assert.deepEqual(exchange.received('b', message, 1), [])
  assert.deepEqual(exchange.received('nobody', have(0), 1), [])
})

test('a peer without an answer is paused for longer each time, and gets one request as a probe', () => {
  const { exchange } = wanting(20, 'a')
  let now = timeoutMs
  assert.equal(sent(exchange.tick(now), 'cancelBlocks', 'a').length, limits.blockRequestsPerPeer)
  for (const pauseMs of [1000, 2000, 4000, 8000]) {
    assert.deepEqual(wanted(list(exchange, cids(20), now), 'a'), [])
    const effects = exchange.tick(now + pauseMs)
    assert.deepEqual(wanted(effects, 'a'), [0], `after ${pauseMs} ms`)
    now += pauseMs + timeoutMs
    exchange.tick(now)
  }
  exchange.tick(now + limits.maxBlockPauseMs)
  list(exchange, cids(20), now + limits.maxBlockPauseMs)
  const effects = exchange.received('a', block(0), now + limits.maxBlockPauseMs + 1)
  assert.equal(wanted(effects, 'a').length, limits.blockRequestsPerPeer)
})

test('the blocks of a peer without an answer are asked for from another one', () => {
  const { exchange, effects } = wanting(1, 'a', 'b')
  const [asked, other] = wanted(effects, 'a').length > 0 ? ['a', 'b'] : ['b', 'a']
  assert.equal(exchange.wakeAt <= timeoutMs, true)
  const later = exchange.tick(timeoutMs)
  assert.deepEqual(sent(later, 'cancelBlocks', asked), [0])
  assert.deepEqual(wanted(later, other), [0])
})

/** An exchange with two peers, of which only `asked` was asked for some blocks. */
function oneAsked(count: number): { exchange: BlockExchange; asked: string; other: string } {
  const { exchange } = wanting(count, 'a')
  exchange.connected('b', 0)
  return { exchange, asked: 'a', other: 'b' }
}

test('a second peer is asked for a block soon, and the first answer counts', () => {
  const { exchange, asked, other } = oneAsked(1)
  assert.deepEqual(wanted(exchange.tick(limits.secondBlockSourceMs - 1), other), [])
  assert.ok(exchange.wakeAt <= limits.secondBlockSourceMs)
  const effects = exchange.tick(limits.secondBlockSourceMs)
  assert.deepEqual(wanted(effects, other), [0])
  assert.deepEqual(sent(effects, 'cancelBlocks', asked), [], 'the first one may still answer')
  // It is not looked for again and again.
  assert.ok(exchange.wakeAt > limits.secondBlockSourceMs)
  const arrived = exchange.received(other, block(0), 2500)
  assert.deepEqual(sent(arrived, 'cancelBlocks', asked), [0])
  assert.equal(storeOf(arrived).from, other)
  assert.deepEqual(exchange.received(asked, block(0), 2600), [], 'the second answer is ignored')
  exchange.stored(storeOf(arrived), 'stored', [], 2700)
  assert.equal(exchange.inProgress, 0)
})

test('the first peer may still answer after a second one was asked', () => {
  const { exchange, asked, other } = oneAsked(1)
  exchange.tick(limits.secondBlockSourceMs)
  const arrived = exchange.received(asked, block(0), 2500)
  assert.equal(storeOf(arrived).from, asked)
  assert.deepEqual(sent(arrived, 'cancelBlocks', other), [0])
})

test('a peer that answers other requests does not make a second one be asked', () => {
  const { exchange, asked, other } = oneAsked(2)
  const arrived = exchange.received(asked, block(0), 1500)
  exchange.stored(storeOf(arrived), 'stored', [], 1500)
  assert.deepEqual(wanted(exchange.tick(limits.secondBlockSourceMs), other), [])
  assert.deepEqual(wanted(exchange.tick(1500 + limits.secondBlockSourceMs), other), [1])
})

test('few blocks are asked for twice at the same time', () => {
  const { exchange, other } = oneAsked(limits.blockRequestsPerPeer)
  const first = wanted(exchange.tick(limits.secondBlockSourceMs), other)
  assert.deepEqual(first, numbersOf(cids(limits.secondBlockSources)))
  assert.deepEqual(wanted(exchange.tick(limits.secondBlockSourceMs + 1), other), [])
  const arrived = exchange.received(other, block(0), 2100)
  assert.deepEqual(wanted(arrived, other), [limits.secondBlockSources])
})

test('without a second peer the first one is waited for until its time-out', () => {
  const { exchange } = wanting(1, 'a')
  assert.deepEqual(sent(exchange.tick(limits.secondBlockSourceMs), 'cancelBlocks', 'a'), [])
  exchange.received('a', notHere(9), limits.secondBlockSourceMs)
  for (let now = exchange.wakeAt; now < timeoutMs; now = exchange.wakeAt) {
    assert.ok(now > limits.secondBlockSourceMs, 'no time is due in the past')
    assert.deepEqual(sent(exchange.tick(now), 'cancelBlocks', 'a'), [])
    list(exchange, cids(1), now)
  }
  assert.deepEqual(sent(exchange.tick(timeoutMs), 'cancelBlocks', 'a'), [0])
})

test('after a time-out, peers that answer are preferred', () => {
  const { exchange } = wanting(1, 'a')
  exchange.tick(timeoutMs)
  const now = timeoutMs + limits.minBlockPauseMs
  const effects = [...exchange.connected('b', timeoutMs), ...exchange.tick(now), ...list(exchange, cids(10), now)]
  // The pause is over, and one request would be a probe.
  assert.deepEqual([wanted(effects, 'a'), wanted(effects, 'b')], [[], numbersOf(cids(10))])
})

test('the second request ends with its own answers, and the first one stays open', () => {
  const { exchange, asked, other } = oneAsked(1)
  exchange.tick(limits.secondBlockSourceMs)
  exchange.received(other, notHere(0), 2500)
  assert.deepEqual([exchange.inProgress, exchange.requestsOf(asked).blocksAsked], [1, 1])
  exchange.disconnected(asked, 2600)
  assert.equal(exchange.inProgress, 0)
  const again = oneAsked(1)
  again.exchange.tick(limits.secondBlockSourceMs)
  again.exchange.disconnected(again.asked, 2600)
  assert.deepEqual([again.exchange.inProgress, again.exchange.requestsOf(again.other).blocksAsked], [1, 1])
})

test('a slow peer that answers one request after the other is not late', () => {
  const { exchange } = wanting(4, 'a')
  for (const [i, now] of [10_000, 20_000, 30_000].entries()) {
    exchange.stored(storeOf(exchange.received('a', block(i), now)), 'stored', [], now)
    assert.deepEqual(sent(exchange.tick(now + 1), 'cancelBlocks', 'a'), [])
  }
  assert.deepEqual(sent(exchange.tick(30_000 + timeoutMs), 'cancelBlocks', 'a'), [3])
})

test('a peer that answers all requests but one is not asked for that block for some time', () => {
  const { exchange } = wanting(200, 'a')
  for (let i = 1; i <= limits.overtakenBlockRequests; i++) {
    assert.deepEqual(sent(exchange.tick(i), 'cancelBlocks', 'a'), [])
    exchange.stored(storeOf(exchange.received('a', block(i), i)), 'stored', [], i)
  }
  const effects = exchange.tick(limits.overtakenBlockRequests)
  assert.deepEqual(sent(effects, 'cancelBlocks', 'a'), [0])
  assert.ok(!wanted(effects, 'a').includes(0))
})

test('a late answer is used, and the request to another peer is withdrawn', () => {
  const { exchange, effects } = wanting(1, 'a', 'b')
  const [slow, other] = wanted(effects, 'a').length > 0 ? ['a', 'b'] : ['b', 'a']
  exchange.tick(timeoutMs)
  const arrived = exchange.received(slow, block(0), timeoutMs + 5)
  assert.deepEqual(sent(arrived, 'cancelBlocks', other), [0])
  assert.equal(storeOf(arrived).from, slow)
  assert.deepEqual(exchange.received(other, block(0), timeoutMs + 6), [])
})

test('a late answer is used also when no peer is asked, and counts as in progress until it is stored', () => {
  const { exchange } = wanting(1, 'a')
  exchange.tick(timeoutMs)
  assert.equal(exchange.inProgress, 0)
  const arrived = exchange.received('a', block(0), timeoutMs + 5)
  assert.equal(exchange.inProgress, 1)
  exchange.stored(storeOf(arrived), 'stored', [], timeoutMs + 6)
  assert.equal(exchange.inProgress, 0)
})

test('a peer that sends wrong bytes is disconnected, and another one is asked', () => {
  const { exchange, effects } = wanting(1, 'a', 'b')
  const [liar, other] = wanted(effects, 'a').length > 0 ? ['a', 'b'] : ['b', 'a']
  const after = exchange.stored(storeOf(exchange.received(liar, block(0), 1)), 'wrong', [], 2)
  assert.deepEqual(closed(after), [`${liar}: badBlock`])
  assert.deepEqual(wanted(after, other), [0])
  assert.deepEqual(exchange.received(liar, block(0), 3), [])
})

test('the blocks of a peer that is gone are asked for from another one', () => {
  const { exchange, effects } = wanting(1, 'a', 'b')
  const [gone, other] = wanted(effects, 'a').length > 0 ? ['a', 'b'] : ['b', 'a']
  assert.deepEqual(wanted(exchange.disconnected(gone, 1), other), [0])
})

test('a block that a download waits for is asked for first, and stored although nothing references it', () => {
  const { exchange } = wanting(0, 'a')
  assert.deepEqual(wanted(exchange.ask(cid(99), 0), 'a'), [99])
  const store = storeOf(exchange.received('a', block(99), 1))
  assert.equal(store.isAsked, true)
  exchange.stored(store, 'stored', [], 2)
  exchange.ask(cid(98), 3)
  assert.deepEqual(sent(exchange.unask(cid(98), 4), 'cancelBlocks', 'a'), [98])
  assert.equal(exchange.inProgress, 0)
})

test('a block that a download waits for is asked for again as soon as its peer may have it', () => {
  const { exchange } = wanting(0, 'a')
  exchange.ask(cid(99), 0)
  exchange.received('a', notHere(99), 0)
  assert.equal(exchange.wakeAt, limits.blockNotHereMs)
  assert.deepEqual(wanted(exchange.tick(limits.blockNotHereMs), 'a'), [99])
  exchange.received('a', notHere(99), limits.blockNotHereMs)
  exchange.unask(cid(99), limits.blockNotHereMs)
  assert.deepEqual(wanted(exchange.ask(cid(99), limits.blockNotHereMs + 1), 'a'), [99])
})

test('after a failure of the store requests are withdrawn, and then blocks are asked for one by one', () => {
  const { exchange } = wanting(10, 'a')
  const failed = exchange.stored(storeOf(exchange.received('a', block(0), 1)), 'failed', [], 1)
  assert.deepEqual(sent(failed, 'cancelBlocks', 'a'), numbersOf(cids(9, 1)))
  exchange.tick(limits.blockStoreRetryMs + 1)
  const retried = list(exchange, cids(10), limits.blockStoreRetryMs + 1)
  assert.deepEqual(wanted(retried, 'a'), [0])
  const stored = storeOf(exchange.received('a', block(0), limits.blockStoreRetryMs + 2))
  assert.equal(wanted(exchange.stored(stored, 'stored', [], limits.blockStoreRetryMs + 2), 'a').length, 9)
})

test('while the disk has no room nothing is asked for', () => {
  const { exchange } = wanting(10, 'a')
  const stopped = exchange.stored(storeOf(exchange.received('a', block(0), 1)), 'noRoom', [], 1)
  assert.equal(sent(stopped, 'cancelBlocks', 'a').length, 9)
  for (let i = 0; i < 5; i++) {
    const now = exchange.wakeAt
    assert.deepEqual(exchange.tick(now), [{ do: 'listWants', from: 'start' }])
    assert.deepEqual(exchange.listed({ cids: [], isEnd: true, hasRoom: false }, now), [])
    assert.deepEqual(exchange.ask(cid(99), now), [])
  }
})

/** An exchange of which a peer wants some blocks; with what it reads at first. */
function serving(count: number): { exchange: BlockExchange; effects: BlockEffect[] } {
  const exchange = newExchange()
  exchange.connected('a', 0)
  list(exchange, [])
  return { exchange, effects: exchange.received('a', { is: 'wantBlocks', cids: cids(count) }, 0) }
}

test('blocks are read for a peer while few bytes are unsent, in the order of its requests', () => {
  const { exchange, effects } = serving(5)
  assert.deepEqual(read(effects), [0, 1])
  const largest = Buffer.alloc(format.fileBlockBytes)
  const first = exchange.read('a', cid(0), largest)
  assert.deepEqual([sent(first, 'block', 'a'), read(first)], [[0], []])
  assert.deepEqual(read(exchange.read('a', cid(1), largest)), [])
  assert.deepEqual(read(exchange.sent('a', largest.length)), [2])
  assert.deepEqual(read(exchange.sent('a', largest.length)), [3])
})

test('a block that is not here is answered so, and the peer is told once when it arrives', () => {
  const { exchange } = serving(1)
  assert.deepEqual(sent(exchange.read('a', cid(0), undefined), 'blocksNotHere', 'a'), [0])
  assert.deepEqual(sent(exchange.added(cid(0)), 'haveBlocks', 'a'), [0])
  assert.deepEqual(exchange.added(cid(0)), [])
})

test('withdrawn requests are not answered', () => {
  const { exchange } = serving(4)
  exchange.received('a', { is: 'cancelBlocks', cids: [cid(2)] }, 0)
  exchange.read('a', cid(0), undefined)
  assert.deepEqual(read(exchange.read('a', cid(1), Buffer.of(1))), [])
  assert.deepEqual(exchange.read('a', cid(2), Buffer.of(1)), [])
})

test('open requests are counted by peer, in both directions', () => {
  const { exchange } = wanting(4, 'a')
  exchange.received('a', { is: 'wantBlocks', cids: cids(3, 50) }, 0)
  assert.deepEqual(exchange.requestsOf('a'), { blocksAsked: 4, blocksRequested: 3 })
  exchange.received('a', notHere(0), 0)
  exchange.read('a', cid(50), undefined)
  assert.deepEqual(exchange.requestsOf('a'), { blocksAsked: 3, blocksRequested: 2 })
  assert.deepEqual(exchange.requestsOf('b'), { blocksAsked: 0, blocksRequested: 0 })
})

test('a peer with too many requests is disconnected', () => {
  const { effects } = serving(limits.blockRequestsServed)
  assert.deepEqual(closed(effects), [])
  const { exchange, effects: more } = serving(limits.blockRequestsServed + 1)
  assert.deepEqual(closed(more), ['a: tooManyBlockRequests'])
  assert.deepEqual(exchange.received('a', { is: 'wantBlocks', cids: cids(1) }, 1), [])
})

test('blocks that are read or unsent have a limit over all peers, and peers take turns', () => {
  const exchange = newExchange()
  const peers = Array.from({ length: 40 }, (_, i) => `peer ${i}`)
  const reads = peers.flatMap((peer) => {
    exchange.connected(peer, 0)
    const effects = exchange.received(peer, { is: 'wantBlocks', cids: cids(8) }, 0)
    return effects.flatMap((effect) => (effect.do === 'readBlock' ? [effect] : []))
  })
  assert.equal(reads.length, limits.servedBlockBytes / format.fileBlockBytes)
  const next = peers.map((peer) => {
    const effects = exchange.disconnected(peer, 1)
    return effects.flatMap((effect) => (effect.do === 'readBlock' ? [effect.peer] : []))
  })
  assert.equal(new Set(next.slice(0, 16).flat()).size, peers.length - 16)
})

test('results of an earlier connection of a peer are ignored', () => {
  const { exchange } = serving(2)
  exchange.connected('a', 5)
  assert.deepEqual(exchange.read('a', cid(0), Buffer.of(1)), [])
  assert.deepEqual(exchange.sent('a', 1), [])
  assert.deepEqual(exchange.sent('b', 1), [])
})

test('a peer that sends many blocks without a request is disconnected, late answers aside', () => {
  const { exchange } = wanting(4, 'a')
  // They have timed out: the answers may be on their way.
  exchange.tick(timeoutMs)
  for (const i of [0, 1, 2, 3]) assert.deepEqual(closed(exchange.received('a', block(i), timeoutMs)), [])
  const effects = Array.from({ length: limits.unaskedBlocks + 1 }, (_, i) =>
    closed(exchange.received('a', block(i % 4), timeoutMs)),
  )
  assert.deepEqual(effects.flat(), ['a: unaskedBlocks'])
  assert.deepEqual(effects.at(-1), ['a: unaskedBlocks'])
  assert.deepEqual(exchange.received('a', block(9), timeoutMs), [])
})
