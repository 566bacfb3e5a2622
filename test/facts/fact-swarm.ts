import { copyOfFact, type FactEvent, factTags, mappingTag, WinningFacts } from '../../src/facts/index.ts'
import { nodeIdOf, type PublicKey } from '../../src/identity/index.ts'
import * as fc from '../support/property.ts'

export const nodes = [1, 2, 3].map((byte) => nodeIdOf(Buffer.alloc(32, byte) as Uint8Array as PublicKey))

export type Step =
  | { readonly do: 'publish'; readonly node: number; readonly stream: number; readonly fact: Fact }
  /** The clock of a node follows that of another one. */
  | { readonly do: 'follow'; readonly node: number; readonly other: number }
  /** A node copies the facts at the start of a stream to its stream for facts, and drops them. */
  | { readonly do: 'prune'; readonly node: number; readonly stream: number; readonly part: number }
  /** A node copies some stored fact again, late; it may be one of another node. */
  | { readonly do: 'copy'; readonly node: number; readonly which: number }

type Fact = Pick<FactEvent, 'tags' | 'payload'>

const name = fc.constantFrom('site', 'app')
const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.tuple(name, fc.nat(9)).map(([of, cid]) => ({ tags: ['ans'], payload: { Add: { name: of, cid: `cid${cid}` } } })),
  name.map((of) => ({ tags: ['ans'], payload: { Remove: { name: of } } })),
  fc.nat(2).map((cid) => ({ tags: ['files', 'files:created'], payload: { type: 'fileAdded', cid: `cid${cid}` } })),
  fc.nat(2).map((cid) => ({ tags: ['files', 'files:removed'], payload: { type: 'removed', cid: `cid${cid}` } })),
  fc.tuple(name, fc.nat(2)).map(([streamName, streamNr]) => ({
    tags: [mappingTag],
    payload: { streamName, streamNr },
  })),
)

const node = fc.nat(nodes.length - 1)
const stream = fc.nat(1)

/** Facts of several nodes, pruned and copied at any time. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('publish' as const), node, stream, fact }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('follow' as const), node, other: node }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('prune' as const),
        node,
        stream,
        part: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('copy' as const), node, which: fc.nat() }) },
  ),
  { maxLength: 40 },
)

const factsStream = 9

/** The streams of a few nodes with nothing but facts in them. */
export class FactSwarm {
  /** All events that were ever published. */
  readonly published: FactEvent[] = []
  /** Those among them that are no copies. */
  readonly originals: FactEvent[] = []
  readonly #streams = new Map<string, FactEvent[]>()
  readonly #clocks = nodes.map(() => 0)

  constructor(list: readonly Step[]) {
    for (const step of list) this.#run(step)
  }

  /** What a node gets that joins now. */
  get stored(): FactEvent[] {
    return [...this.#streams.values()].flat()
  }

  #run(step: Step): void {
    switch (step.do) {
      case 'publish':
        this.originals.push(this.#publish(step.node, step.stream, step.fact))
        return
      case 'follow':
        this.#clocks[step.node] = Math.max(this.#clocks[step.node] as number, this.#clocks[step.other] as number)
        return
      case 'prune':
        this.#prune(step.node, step.stream, step.part)
        return
      case 'copy': {
        const { stored } = this
        const event = stored[step.which % stored.length]
        if (event === undefined) return
        // The clock of a node is ahead of every event that it has.
        this.#clocks[step.node] = Math.max(this.#clocks[step.node] as number, event.lamport + 1)
        this.#publish(step.node, factsStream, copyOfFact(event))
      }
    }
  }

  #publish(of: number, number: number, { tags, payload }: Fact): FactEvent {
    const lamport = this.#clocks[of] as number
    this.#clocks[of] = lamport + 1
    const event = { lamport, stream: `${nodes[of]}-${number}`, tags, payload }
    this.published.push(event)
    this.#streamOf(event.stream).push(event)
    return event
  }

  #prune(of: number, number: number, part: number): void {
    const events = this.#streamOf(`${nodes[of]}-${number}`)
    const pruned = events.slice(0, Math.round(part * events.length))
    const kept = winnersOf(this.#streamOf(`${nodes[of]}-${factsStream}`))
    for (const { event } of winnersOf(pruned).missingIn(kept)) this.#publish(of, factsStream, copyOfFact(event))
    events.splice(0, pruned.length)
  }

  #streamOf(id: string): FactEvent[] {
    const known = this.#streams.get(id)
    if (known !== undefined) return known
    const events: FactEvent[] = []
    this.#streams.set(id, events)
    return events
  }
}

export function winnersOf(events: Iterable<FactEvent>): WinningFacts {
  const facts = new WinningFacts()
  for (const event of events) facts.add(event)
  return facts
}

/** The contents of the winning facts, by subject. */
export function contentsOf(facts: WinningFacts): Record<string, unknown> {
  const contents = facts.inOrder().map(({ subject, event }): [string, unknown] => {
    const { copyOf: _, ...content } = event.payload as Record<string, unknown>
    return [subject, content]
  })
  return Object.fromEntries(contents.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** The same by definition: the last of all originals about a subject, in the total order. No copy is looked at. */
export function expectedContents(originals: readonly FactEvent[]): Record<string, unknown> {
  const order = ({ lamport, stream: id }: FactEvent) => `${String(lamport).padStart(9, '0')} ${id}`
  const sorted = originals.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
  const last = sorted.map(({ tags, stream: id, payload }): [string, unknown] => {
    const {
      Add: added,
      Remove: removed,
      cid,
      streamName,
      streamNr,
    } = payload as Record<string, Record<string, unknown>>
    if (tags.includes(mappingTag)) return [JSON.stringify(['stream', id.split('-')[0], streamName, streamNr]), payload]
    if (tags.includes('ans')) return [JSON.stringify(['name', (added ?? removed)?.['name']]), payload]
    return [JSON.stringify(['upload', cid]), payload]
  })
  return Object.fromEntries([...new Map(last)].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Events with any claims, as a hostile or broken node may publish them. */
export const anyFactEvents: fc.Arbitrary<FactEvent[]> = fc.uniqueArray(
  fc
    .record({
      lamport: fc.nat(5),
      stream: fc.tuple(fc.constantFrom(...nodes), stream).map((parts) => parts.join('-')),
      tag: fc.constantFrom(...factTags),
      fact,
      claim: fc.option(
        fc.record({
          lamport: fc.oneof(fc.integer({ min: -1, max: 7 }), fc.constantFrom(1.5, 2 ** 53, '3', null)),
          stream: fc.oneof(
            fc.tuple(fc.constantFrom(...nodes), stream).map((parts) => parts.join('-')),
            fc.constantFrom('', 'x-0', 7, `${nodes[0]}-x`, `${nodes[0]}`),
          ),
        }),
        { nil: undefined },
      ),
    })
    .map(({ lamport, stream: id, tag, fact: { tags, payload }, claim }) => ({
      lamport,
      stream: id,
      tags: [...new Set([...tags, tag])],
      payload: claim === undefined ? payload : { ...(payload as object), copyOf: claim },
    })),
  { selector: ({ lamport, stream: id }) => `${lamport} ${id}`, maxLength: 12 },
)
