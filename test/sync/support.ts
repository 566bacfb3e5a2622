import assert from 'node:assert/strict'
import { KeyPair } from '../../src/identity/index.ts'
import { type Hash, heads, shortHead } from '../../src/protocol/index.ts'
import { type Effect, type Message, Sync, type TableRow } from '../../src/sync/index.ts'

export const topic = 'test'
export const hash = 'h'.repeat(32) as Hash
export const records = 'r'.repeat(32) as Hash
/** The node under test. */
export const node = new KeyPair(Buffer.alloc(32, 99)).publicKey
export const hello = { is: 'hello' as const, version: 1, features: [], required: [], time: 1 } satisfies Message

/** What a node has of a stream, with a head signed by the stream's node. */
export function rowOf(seed: number, count: number, number = 0): TableRow {
  const key = new KeyPair(Buffer.alloc(32, seed))
  const stream = { node: key.publicKey, number }
  const head = heads.sign({ topic, stream, count, lamport: count, hash, checkpoint: false, time: 1 }, key)
  return { key: stream, count, pruned: 0, hash, records, frozen: false, head }
}

/** The message with which a peer says that it has this. */
export function claimOf({ head, frozen, key, pruned, records }: TableRow): Message {
  if (frozen) return { is: 'heads', entries: [{ isFrozen: true, stream: key }], answer: [] }
  const short = shortHead(head as Uint8Array, topic)
  const entry = { isFrozen: false, pruned, records: Buffer.from(records.slice(0, 8), 'latin1'), head: short } as const
  return { is: 'heads', entries: [entry], answer: [] }
}

export function newSync(isInDoubt = () => false): Sync {
  return new Sync(
    {
      topic,
      node,
      gossipMs: 1000,
      pingTimeoutMs: 5000,
      isReadOnly: false,
      random: () => 0.5,
      wallClock: () => 1,
      isInDoubt,
    },
    0,
  )
}

/** A node with peers that have introduced themselves. */
export function connectedTo(...peers: string[]): Sync {
  return connect(newSync(), ...peers)
}

export function connect(sync: Sync, ...peers: string[]): Sync {
  for (const peer of peers) {
    sync.connected(peer, 0)
    sync.received(peer, hello, 0)
    sync.received(peer, { is: 'neighbours', added: [], removed: [] }, 0)
  }
  return sync
}

/** Lets time pass, and returns everything that follows. `heard` are peers that send something all the time. */
export function runUntil(sync: Sync, end: number, ...heard: string[]): Effect[] {
  const effects: Effect[] = []
  const tick = (now: number): void => {
    for (const peer of heard) sync.received(peer, { is: 'stored', streams: [] }, now)
    effects.push(...sync.tick(now))
  }
  for (let now = sync.wakeAt; now < end; now = sync.wakeAt) tick(now)
  tick(end)
  return effects
}

export function sent(effects: readonly Effect[], kind: Message['is']): { to: string; message: Message }[] {
  return effects.flatMap((effect) => (effect.do === 'send' && effect.message.is === kind ? [effect] : []))
}

/** `ping` and `pong` are one type. */
type MessageOf<Kind extends Message['is']> = Message extends infer M
  ? M extends { is: infer Is }
    ? Kind extends Is
      ? M
      : never
    : never
  : never

export function onlySent<Kind extends Message['is']>(
  effects: readonly Effect[],
  kind: Kind,
): { to: string; message: MessageOf<Kind> } {
  const found = sent(effects, kind)
  assert.equal(found.length, 1, `one message '${kind}' is sent`)
  return found[0] as { to: string; message: MessageOf<Kind> }
}

export function closed(effects: readonly Effect[]): string[] {
  return effects.flatMap((effect) => (effect.do === 'close' ? [`${effect.peer}: ${effect.reason}`] : []))
}

/** The only effect of a kind. */
export function only<Kind extends Effect['do']>(effects: readonly Effect[], kind: Kind): Extract<Effect, { do: Kind }> {
  const found = effects.filter((effect) => effect.do === kind)
  assert.equal(found.length, 1, `one effect '${kind}'`)
  return found[0] as Extract<Effect, { do: Kind }>
}
