import type { StreamHead } from '../../../src/store/port/index.ts'
import type { Swarm } from '../swarm.ts'
import type { WholeNode } from '../whole-node.ts'

/**
 * Whether others have more of an own stream of a node, which has lost events, and was sure of its streams before it was
 * told. That stays so until it publishes there again, which freezes the stream.
 */
export async function isBehindItself(swarm: Swarm, node: WholeNode): Promise<boolean> {
  return (await rowsBehind(swarm, node)).length > 0
}

/** The head texts of a node, where those of own streams that it is behind with are those of another node. */
export async function headTextsOf(swarm: Swarm, node: WholeNode): Promise<string[]> {
  const texts = await node.headTexts()
  const behind = await rowsBehind(swarm, node)
  if (behind.length === 0) return texts
  const replaced = new Map<string, string>()
  for (const { number, other } of behind) {
    const name = node.streamId(number)
    const theirs = (await other.headTexts()).find((text) => text.startsWith(`${name} `))
    if (theirs !== undefined) replaced.set(name, theirs)
  }
  return texts.map((text) => replaced.get(text.slice(0, text.indexOf(' '))) ?? text)
}

async function rowsBehind(
  { nodes, equivocators }: Swarm,
  node: WholeNode,
): Promise<{ readonly number: number; readonly other: WholeNode }[]> {
  if (!equivocators.has(node.id)) return []
  const behind: { number: number; other: WholeNode }[] = []
  for (const row of await node.store.heads()) {
    if (!row.own || row.frozen) continue
    for (const other of nodes)
      if (other !== node && (await continues(row, other))) {
        behind.push({ number: row.key.number, other })
        break
      }
  }
  return behind
}

/** Whether another node has the same chain, with more events. */
async function continues({ key, count, hash }: StreamHead, { store }: WholeNode): Promise<boolean> {
  const theirs = await store.headOf(key)
  if (theirs === undefined || theirs.frozen || theirs.count <= count) return false
  return (await store.hashAt(theirs.number, count)) === hash
}
