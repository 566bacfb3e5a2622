import { Events } from '../../../src/events/index.ts'
import { Logger, logOutput, textLine } from '../../../src/logging/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { systemTimers } from '../../../src/runtime/timers.ts'
import type { RetentionSettings, SettingsDocument } from '../../../src/settings/index.ts'
import type { EventStore } from '../../../src/store/index.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import { eventsIn, key, nodeId } from '../../support/api.ts'

export type Limits = Partial<RetentionSettings>

/** A stored event. */
export interface Stored {
  readonly stream: number
  readonly offset: number
  readonly time: number
  readonly tags: readonly string[]
  readonly payload: unknown
}

export interface WorldOptions {
  readonly routes?: SettingsDocument['eventRouting']['routes']
  readonly streams?: Readonly<Record<string, Limits>>
  readonly aheadOfPeers?: () => readonly number[]
  readonly clockDoubted?: (detail: string | undefined) => void
}

export type StoreOptions = ConstructorParameters<typeof MemoryEventStore>[0]

/** The events of a node with a clock that the test controls. */
export class World {
  /** The wall clock and the elapsed time, in microseconds. */
  readonly clock = { wall: 1_700_000_000e6, passed: 0 }
  readonly store: EventStore
  readonly log: string[] = []

  constructor(makeStore: (options: StoreOptions) => EventStore = (options) => new MemoryEventStore(options)) {
    this.store = makeStore({
      runtime: systemRuntime,
      topic: 'default-topic',
      kind: 'live',
      key,
      now: () => this.clock.wall,
    })
  }

  /** Starts a node on the store; may be called repeatedly. */
  open({ routes = [], streams = {}, ...more }: WorldOptions = {}, store = this.store): Promise<Events> {
    const output = logOutput(
      textLine(false),
      { write: (text) => this.log.push(text), flush: async () => {} },
      systemClock,
    )
    return Events.open(store, {
      node: nodeId,
      routes,
      streams: limitsOf(streams),
      log: new Logger(output, 'events'),
      timers: systemTimers,
      clock: { now: () => this.clock.wall, steadyMs: () => this.clock.passed / 1000 },
      ...more,
    })
  }

  pass(seconds: number): void {
    this.clock.wall += seconds * 1e6
    this.clock.passed += seconds * 1e6
  }

  async events(): Promise<Stored[]> {
    return (await eventsIn(this.store)).map((line) => {
      const { stream, offset, timestamp, tags, payload } = JSON.parse(line)
      return { stream: Number(stream.slice(nodeId.length + 1)), offset, time: timestamp, tags, payload }
    })
  }

  /** The first remaining offset of an own stream. */
  async firstOf(stream: number): Promise<number | undefined> {
    return (await this.events()).find((event) => event.stream === stream)?.offset
  }
}

/** Settings with their defaults filled in. */
export function limitsOf(streams: Readonly<Record<string, Limits>>): Record<string, RetentionSettings> {
  const none = { maxEvents: 0, maxSize: '0', maxAge: null }
  return Object.fromEntries(Object.entries(streams).map(([name, limits]) => [name, { ...none, ...limits }]))
}

/** Publishes events with a tag; 1024 events in one call make a chunk. */
export async function publish(events: Events, count: number, tag: string, payload: unknown = null): Promise<void> {
  const data = Array.from({ length: count }, () => ({ tags: [tag], payload }))
  await events.publish('com.example.app', Buffer.from(JSON.stringify({ data })))
}
