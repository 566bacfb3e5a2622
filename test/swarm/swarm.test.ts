import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyPair, nodeIdOf, peerIdOf } from '../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore, type ThreadName } from '../../src/store/index.ts'
import { Swarm, type SwarmSettings, type SwarmSnapshot } from '../../src/swarm/index.ts'
import { numbered, requestOf, textOf } from '../store/acceptance/support.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'

const settings: SwarmSettings = {
  displayName: 'A Node',
  initialPeers: [],
  announceAddresses: [],
  mdns: false,
  pingTimeoutMs: 5000,
  gossipMs: 1000,
  lowLatencyMs: 2000,
  blockTimeoutMs: 15_000,
  highLatencyMs: 5000,
  isReadOnly: false,
  logFilter: 'DEBUG',
}

/** A store with a swarm, whose thread can be ended. */
class Member {
  readonly key = KeyPair.generate(systemRandom)
  readonly lines: string[] = []
  readonly problems: (string | undefined)[] = []
  readonly threads: string[] = []
  readonly #channel = randomUUID()
  #store: SqliteEventStore | undefined
  #swarm: Swarm | undefined

  static async start(t: TestContext): Promise<Member> {
    const member = new Member()
    t.after(async () => {
      await member.#swarm?.stop()
      await member.#store?.close()
    })
    const sink = { write: (line: string) => void member.lines.push(line), flush: async () => {} }
    const note =
      (what: string) =>
      (thread: ThreadName): void =>
        void member.threads.push(`${thread} ${what}`)
    const threads = { started: note('started'), ended: note('ended'), startFailed: note('failed') }
    const swarm = new Swarm({
      runtime: systemRuntime,
      log: new Logger(logOutput(textLine(false), sink, systemRuntime.clock), 'swarm'),
      threads,
      key: member.key,
      topic: 't',
      swarmKey: Buffer.alloc(32, 'test').toString('base64'),
      settings,
      onState: (problem) => void member.problems.push(problem),
      thread: {
        module: new URL('../support/mortal-swarm-thread.ts', import.meta.url),
        data: { channel: member.#channel },
      },
    })
    member.#swarm = swarm
    const store = await SqliteEventStore.open({
      runtime: systemRuntime,
      file: join(temporaryFolder(t), 'log.db'),
      topic: 't',
      kind: 'live',
      key: member.key,
      removed: (...removal) => swarm.removed(...removal),
    })
    member.#store = store
    await swarm.start({ link: () => store.link(), gate: undefined }, async () => [{ host: '127.0.0.1', port: 0 }])
    return member
  }

  get store(): SqliteEventStore {
    return this.#store ?? assert.fail('not open')
  }

  get swarm(): Swarm {
    return this.#swarm ?? assert.fail('not started')
  }

  get name(): string {
    return Buffer.from(this.key.publicKey).toString('latin1')
  }

  /** Connects to another one, wherever it listens now. */
  async connectTo(other: Member): Promise<void> {
    this.swarm.apply({ ...settings, initialPeers: await this.addressOf(other) })
  }

  async addressOf(other: Member): Promise<string[]> {
    const { listenAddresses } = await other.snapshot()
    return [`${listenAddresses[0]}/p2p/${peerIdOf(other.key.publicKey)}`]
  }

  /** The last snapshot, as soon as there is one. */
  snapshot(): Promise<SwarmSnapshot> {
    return until(
      () => this.swarm.snapshot,
      () => 'there is no snapshot',
    )
  }

  endThread(): void {
    const channel = new BroadcastChannel(this.#channel)
    channel.postMessage('end')
    channel.close()
  }

  /** Waits until both have the same events. */
  async agreesWith(other: Member): Promise<void> {
    await until(
      async () => (await textOf(this.store)) === (await textOf(other.store)) || undefined,
      () => `not all events have arrived:\n${this.lines.join('')}`,
    )
  }
}

test('the thread of the swarm is started again when it dies, and the store serves on', async (t) => {
  const [a, b] = [await Member.start(t), await Member.start(t)]
  await b.connectTo(a)
  await a.store.append(requestOf(numbered(20_000)))
  await until(
    async () => ((await b.store.streams()).length > 0 ? true : undefined),
    () => 'nothing has arrived',
  )
  b.endThread()
  await until(
    () => b.problems.at(-1),
    () => 'the end was not reported',
  )
  assert.match(b.problems.at(-1) ?? '', /the swarm thread has ended/)
  assert.equal(b.swarm.snapshot, undefined)
  await b.store.append(requestOf(numbered(5, 0, 3)))
  await until(
    () => b.problems.at(-1) === undefined || undefined,
    () => 'it was not started again',
  )
  assert.deepEqual(
    b.threads.filter((notice) => notice.startsWith('swarm')),
    ['swarm started', 'swarm ended', 'swarm started'],
  )
  await b.agreesWith(a)
  assert.equal(
    (await a.store.streams()).reduce((sum, { count }) => sum + count, 0),
    20_005,
  )
})

test('events that were acknowledged just before a node stops reach its peers, also those that are not pushed', async (t) => {
  const [a, b] = [await Member.start(t), await Member.start(t)]
  await b.connectTo(a)
  await a.store.append(requestOf(numbered(1)))
  await b.agreesWith(a)
  await a.store.append(requestOf(numbered(3000, 0, 1)))
  await a.swarm.stop()
  assert.equal(await textOf(b.store), await textOf(a.store))
  await until(
    () => b.lines.find((line) => line.includes('the peer closed the session: the node stops')),
    () => b.lines.join(''),
  )
})

test('a snapshot tells of connections, known and announced addresses, and how well nodes keep up', async (t) => {
  const [a, b] = [await Member.start(t), await Member.start(t)]
  const announced = '/ip4/10.9.8.7/tcp/4001'
  a.swarm.apply({ ...settings, announceAddresses: [announced] })
  await a.store.append(requestOf(numbered(3)))
  await b.connectTo(a)
  await b.agreesWith(a)
  const snapshot = await until(
    () => (Object.keys(b.swarm.snapshot?.statuses ?? {}).length === 2 ? b.swarm.snapshot : undefined),
    () => 'no status of both nodes',
  )
  const nodes = [a, b].map(({ key }) => nodeIdOf(key.publicKey))
  assert.deepEqual(Object.keys(snapshot.statuses).sort(), nodes.sort())
  assert.equal(snapshot.statuses[nodeIdOf(a.key.publicKey)], 'LowLatency')
  const [connection] = snapshot.connections
  assert.ok(connection)
  assert.deepEqual(
    [connection.peer, connection.direction, connection.isReady, connection.missingHere, connection.missingThere],
    [a.name, 'outbound', true, 0, 0],
  )
  assert.ok(connection.receivedBytes > 0 && connection.sentBytes > 0 && connection.usefulBytes > 0)
  assert.deepEqual([connection.newStreams, connection.refusedChunks], [1, 0])
  assert.equal(connection.agent, 'A Node')
  assert.deepEqual(
    snapshot.knownPeers.map(({ peer, state, isInitial }) => [peer, state, isInitial]),
    [[a.name, 'connected', true]],
  )
  assert.deepEqual([snapshot.counters.storedEvents, snapshot.counters.dials], [3, 1])
  await until(
    () => b.swarm.snapshot?.knownPeers.find(({ addresses }) => addresses.some(({ address }) => address === announced)),
    () => 'the other node does not know the announced address',
  )
  assert.deepEqual(a.swarm.snapshot?.announcedAddresses, [announced])
  // A change reaches peers that stay connected.
  const changed = '/ip4/10.9.8.7/tcp/4002'
  a.swarm.apply({ ...settings, announceAddresses: [changed] })
  await until(
    () => {
      const known =
        b.swarm.snapshot?.knownPeers.flatMap(({ addresses }) => addresses.map(({ address }) => address)) ?? []
      return known.includes(changed) && !known.includes(announced) ? true : undefined
    },
    () => 'the other node does not know the changed address',
  )
  assert.equal(b.swarm.snapshot?.counters.dials, 1)
})

test('a peer that cannot be reached is in the snapshot with the reason', async (t) => {
  const a = await Member.start(t)
  const other = peerIdOf(KeyPair.generate(systemRandom).publicKey)
  a.swarm.apply({ ...settings, initialPeers: [`/ip4/127.0.0.1/tcp/1/p2p/${other}`] })
  const failure = await until(
    () => a.swarm.snapshot?.knownPeers[0]?.failures[0],
    () => 'no failure is known',
  )
  assert.match(failure.reason, /refused/)
  assert.deepEqual([failure.address, a.swarm.snapshot?.connections], ['/ip4/127.0.0.1/tcp/1', []])
})

test('a read-only node receives, and sends its own events when it is not read-only any more', async (t) => {
  const [a, b] = [await Member.start(t), await Member.start(t)]
  b.swarm.apply({ ...settings, isReadOnly: true })
  await b.store.append(requestOf(numbered(2)))
  await a.store.append(requestOf(numbered(3)))
  const initialPeers = await b.addressOf(a)
  b.swarm.apply({ ...settings, initialPeers, isReadOnly: true })
  const counts = async ({ store }: Member) => (await store.streams()).map(({ count }) => count)
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, count) => total + count, 0)
  await until(
    async () => sum(await counts(b)) === 5 || undefined,
    () => 'the events of the other node have not arrived',
  )
  assert.deepEqual(await counts(a), [3])
  b.swarm.apply({ ...settings, initialPeers })
  await a.agreesWith(b)
  assert.equal(sum(await counts(a)), 5)
})

test('redactions and prunes of own events reach the other node', async (t) => {
  const [a, b] = [await Member.start(t), await Member.start(t)]
  for (let i = 0; i < 4; i++) await a.store.append(requestOf(numbered(1024, 1024 * i)))
  await b.connectTo(a)
  await b.agreesWith(a)
  await a.store.redact(0, [3000, 3001])
  await b.agreesWith(a)
  await a.store.prune(0, 1024)
  await b.agreesWith(a)
  assert.equal((await b.store.streams())[0]?.pruned, 1024)
})
