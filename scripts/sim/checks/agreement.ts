import assert from 'node:assert/strict'
import { nodeIdOf } from '../../../src/identity/index.ts'
import type { ReceivedEvent } from '../event-lines.ts'
import { nodeOfStream, streamIdOf } from '../ledger.ts'
import { resubscribeMs, type Swarm } from '../swarm.ts'
import { firstDifference } from '../trace.ts'
import type { WholeNode } from '../whole-node.ts'
import { blocksToFetch } from './files.ts'
import { checkQuery } from './query.ts'

/** Virtual time within which all nodes have to agree, once nothing fails any more. */
const settleMs = 180_000

/** The number of events of each stream that some node has. */
export type Held = ReadonlyMap<string, number>

/** What the nodes have together: none of it may be lost from now on. */
export async function heldBy({ nodes }: Swarm): Promise<Held> {
  const held = new Map<string, number>()
  for (const node of nodes)
    for (const [stream, count] of await node.eventCounts()) held.set(stream, Math.max(count, held.get(stream) ?? 0))
  return held
}

/** Runs until all nodes have the same heads, which have to cover what was held. Returns the virtual milliseconds. */
export async function settle(swarm: Swarm): Promise<number> {
  const { agenda } = swarm
  const from = agenda.nowMs
  const restlessMs = Math.max(swarm.restlessUntil, ...swarm.joinsAt.values()) - from
  for (let ms = Math.max(0, Math.ceil(restlessMs)) + 500; ms <= settleMs; ms += 500) {
    await agenda.runUntil(from + ms)
    if (await agree(swarm)) return ms
  }
  throw new Error(`the nodes do not agree ${settleMs / 1000} s after the last fault:\n${await disagreement(swarm)}`)
}

async function agree(swarm: Swarm): Promise<boolean> {
  let expected: string | undefined
  for (const node of swarm.nodes) {
    const heads = (await node.headTexts()).join()
    expected ??= heads
    if (heads !== expected) return false
  }
  return blocksToFetch(swarm).length === 0
}

/** The streams on which nodes disagree: what each of them has. Then the blocks that they lack. */
async function disagreement(swarm: Swarm): Promise<string> {
  const all = await Promise.all(
    swarm.nodes.map(async (node) => ({ label: node.label, id: node.id, heads: await node.headTexts() })),
  )
  const isShared = (head: string): boolean => all.every(({ heads }) => heads.includes(head))
  const streams = all.map(
    ({ label, id, heads }) => `${label} ${id}: ${heads.filter((head) => !isShared(head)).join(', ')}`,
  )
  return [...streams, ...blocksToFetch(swarm).map((block) => `missing: ${block}`)].join('\n')
}

/** Checks what every node has in the end. Advances the virtual time, because queries take some. */
export async function checkEnd(swarm: Swarm, held: Held): Promise<void> {
  let expected: readonly string[] | undefined
  // A client that subscribes again may find another event that sorts before its last one.
  await swarm.agenda.runUntil(swarm.agenda.nowMs + 3 * resubscribeMs)
  for (const node of swarm.nodes) {
    const events = await completed(swarm, checkQuery(node, swarm.ledger))
    await swarm.observerOf(node)?.checkComplete(events)
    const shared = events.filter(({ stream }) => !swarm.equivocators.has(nodeOfStream(stream))).map(({ line }) => line)
    expected ??= shared
    const difference = firstDifference(expected, shared)
    assert.equal(difference, undefined, `the nodes disagree on the events (${node.label})`)
    await checkRemoved(swarm, node, events)
    await checkNothingLost(swarm, node, held)
    await checkForks(swarm, node)
    swarm.trace.note(`end ${node.label} ${(await node.headTexts()).join()}`)
  }
}

/** What remaining nodes have removed is nowhere, except that a node may prune a stream while others have frozen it. */
async function checkRemoved(
  { ledger, nodes }: Swarm,
  { label, store }: WholeNode,
  events: readonly ReceivedEvent[],
): Promise<void> {
  const remaining: ReadonlySet<string> = new Set(nodes.map(({ id }) => id))
  const frozen: ReadonlySet<string> = new Set(
    (await store.heads()).filter((row) => row.frozen).map(({ key }) => streamIdOf(key.node, key.number)),
  )
  for (const { stream, offset } of events) {
    if (!remaining.has(nodeOfStream(stream))) continue
    const isRemoved = frozen.has(stream) ? ledger.isRedacted(stream, offset) : ledger.isRemoved(stream, offset)
    assert.ok(!isRemoved, `${label} still has ${stream}/${offset}, which was removed`)
  }
}

/** Everything that was held when the faults ended, and everything that remaining nodes have acknowledged. */
async function checkNothingLost({ ledger, nodes, equivocators }: Swarm, node: WholeNode, held: Held): Promise<void> {
  const counts = new Map(await node.eventCounts())
  for (const [stream, count] of held)
    if (!equivocators.has(nodeOfStream(stream)))
      assert.ok((counts.get(stream) ?? 0) >= count, `events of ${stream} are lost on ${node.label}`)
  const remaining: ReadonlySet<string> = new Set(nodes.map(({ id }) => id))
  for (const [stream, payloads] of ledger.streams()) {
    if (!ledger.isHonest(stream)) continue
    const count = counts.get(stream) ?? 0
    assert.ok(count <= payloads.length, `${node.label} has events of ${stream} that were not published`)
    if (remaining.has(nodeOfStream(stream)))
      assert.equal(count, payloads.length, `acknowledged events of ${stream} are lost on ${node.label}`)
  }
}

/** Only nodes that have forked a stream are accused of it. */
async function checkForks({ equivocators }: Swarm, { store, label }: WholeNode): Promise<void> {
  for (const { number, key } of await store.streams()) {
    if ((await store.evidence(number)) === undefined) continue
    const id = nodeIdOf(key.node)
    assert.ok(equivocators.has(id), `${label} has evidence of a fork by ${id}, which is honest`)
  }
}

/** The result of asynchronous work that needs the virtual time to advance. */
export async function completed<T>({ agenda }: Swarm, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  // The error is thrown below.
  done.catch(() => {})
  while (!isDone) await agenda.step(agenda.nowMs + 1000)
  return done
}
