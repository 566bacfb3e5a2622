import assert from 'node:assert/strict'
import { type FactEvent, WinningFacts } from '../../../src/facts/index.ts'
import { compareKeys, readLines } from '../event-lines.ts'
import { nodeOfStream } from '../ledger.ts'
import { factIn, factQuery, type StoredFact } from '../sim-files.ts'
import type { Swarm } from '../swarm.ts'
import type { WholeNode } from '../whole-node.ts'
import { completed } from './agreement.ts'

/** What is said about each subject. */
type Contents = ReadonlyMap<string, string>

/**
 * All nodes have the same names, also one that would join now: then only what is stored counts, not what was there once.
 * Where all facts about a subject have arrived, the last one counts.
 */
export async function checkNames(swarm: Swarm): Promise<void> {
  const { nodes, ledger, unreliable, equivocators, trace } = swarm
  const isUnsure = (id: string): boolean => equivocators.has(id) || (unreliable.has(id) && hasPruned(swarm, id))
  const unsure = subjectsBy(ledger.facts, isUnsure)
  const incomplete = subjectsBy(ledger.facts, (id) => unreliable.has(id) || isUnsure(id))
  const expected = lastOf(ledger.facts)
  const reliable = ledger.facts.filter(({ stream }) => !unreliable.has(nodeOfStream(stream)))
  let first: Contents | undefined
  for (const node of nodes) {
    const contents = contentsOf(node.files.facts)
    const ofNewcomer = contentsOf(await completed(swarm, storedFacts(node)))
    first ??= contents
    checkSame(contents, first, unsure, `${node.label} has other names`)
    checkSame(ofNewcomer, contents, unsure, `a node that gets the events of ${node.label} has other names`)
    checkSame(contents, expected, incomplete, `${node.label} has other names than were given`)
    checkNotPostdated(node, reliable, unsure)
    trace.note(`names ${node.label} ${JSON.stringify([...contents])}`)
  }
}

function checkSame(actual: Contents, expected: Contents, excepted: ReadonlySet<string>, problem: string): void {
  for (const subject of new Set([...actual.keys(), ...expected.keys()]))
    if (!excepted.has(subject)) assert.equal(actual.get(subject), expected.get(subject), `${problem}: ${subject}`)
}

/** No claim makes a fact win over one that is later than its event. */
function checkNotPostdated(
  { label, files }: WholeNode,
  facts: readonly FactEvent[],
  excepted: ReadonlySet<string>,
): void {
  for (const fact of facts) {
    const subject = subjectOf(fact)
    const winner = files.facts.get(subject)?.event
    if (winner !== undefined && !excepted.has(subject))
      assert.ok(compareKeys(winner, fact) >= 0, `on ${label} a fact wins over a later one: ${subject}`)
  }
}

/** The winners among the facts that a node has stored. */
async function storedFacts(node: WholeNode): Promise<WinningFacts> {
  const facts = new WinningFacts<StoredFact>()
  const request = { ...factQuery, order: 'asc', lowerBound: {}, upperBound: undefined }
  await readLines(node.store.start('query', request), (line) => {
    const event = factIn(line)
    if (event !== undefined) facts.add(event)
  })
  return facts
}

export function contentsOf(facts: WinningFacts): Contents {
  return new Map(facts.inOrder().map(({ subject, event }) => [subject, contentOf(event)]))
}

function contentOf({ payload }: Pick<FactEvent, 'payload'>): string {
  const { copyOf: _, ...content } = payload as Record<string, unknown>
  return JSON.stringify(content)
}

/** The last fact about each subject, by definition: no copy is looked at. */
export function lastOf(facts: readonly FactEvent[]): Contents {
  return new Map(facts.toSorted(compareKeys).map((fact) => [subjectOf(fact), contentOf(fact)]))
}

function subjectsBy(facts: readonly FactEvent[], isBy: (id: string) => boolean): Set<string> {
  return new Set(facts.filter(({ stream }) => isBy(nodeOfStream(stream))).map(subjectOf))
}

/** Written down again: the simulator must not rely on what it tests. */
function subjectOf({ stream, payload }: FactEvent): string {
  const { Add: added, Remove: removed, cid, streamName, streamNr } = payload as Record<string, { name?: string }>
  const name = (added ?? removed)?.name
  if (name !== undefined) return JSON.stringify(['name', name])
  if (cid !== undefined) return JSON.stringify(['upload', cid])
  return JSON.stringify(['stream', nodeOfStream(stream), streamName, streamNr])
}

/** A node that has left may have taken its last copies with it. */
function hasPruned({ ledger }: Swarm, id: string): boolean {
  return ledger.countsOf(id).some(([stream]) => ledger.prunedOf(stream) > 0)
}
