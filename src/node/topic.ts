import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { changedPaths, type JsonObject, type SettingsDocument } from '../settings/index.ts'
import { blobFile, ThreadedBlobs } from '../store/index.ts'
import type { SwarmStore } from '../swarm/index.ts'
import { Maintenance } from './maintenance.ts'
import { openEvents } from './open-events.ts'
import { openFiles } from './open-files.ts'
import type { TopicParts } from './topic-parts.ts'

interface OpenedParts {
  readonly name: string
  readonly events: Events
  readonly files: Files
  readonly blobs: ThreadedBlobs
  readonly maintenance: Maintenance
  /** What the swarm needs of the topic. */
  readonly store: SwarmStore
  readonly unsubscribe: () => void
}

/** An open topic: its events, files and blobs, and their upkeep. */
export class Topic {
  readonly name: string
  readonly events: Events
  readonly files: Files
  readonly blobs: ThreadedBlobs
  readonly store: SwarmStore
  readonly #maintenance: Maintenance
  readonly #unsubscribe: () => void

  private constructor({ name, events, files, blobs, maintenance, store, unsubscribe }: OpenedParts) {
    this.name = name
    this.events = events
    this.files = files
    this.blobs = blobs
    this.store = store
    this.#maintenance = maintenance
    this.#unsubscribe = unsubscribe
  }

  static async open(name: string, parts: TopicParts): Promise<Topic> {
    const { settings, background } = parts
    const before = settings.document
    const { events, store, gate, apply: applyToEvents } = await openEvents(name, parts)
    const { files, apply: applyToFiles } = openFiles(name, events, parts)
    const blobs = openBlobs(name, parts)
    const maintenance = new Maintenance({ ...parts, events, background: background.onNotice }, parts.retentionMs)
    background.setRetry(['prune'], () => maintenance.prune())
    background.setRetry(['metrics_event'], () => maintenance.publishMetrics())
    const apply = (change: { readonly paths: readonly string[]; readonly after: SettingsDocument }): void => {
      applyToEvents(change)
      applyToFiles(change)
    }
    const unsubscribe = settings.onChange(apply)
    // What was changed while the topic was opened.
    apply({ paths: changedBetween(before, settings.document), after: settings.document })
    const swarmStore = { link: () => store.link(), gate, linkBlocks: () => files.blocks.link() }
    return new Topic({ name, events, files, blobs, maintenance, store: swarmStore, unsubscribe })
  }

  /** Fails open queries and subscriptions, and starts no other ones; publishing goes on. */
  stopReading(): void {
    this.#maintenance.stop()
    this.events.stopReading()
  }

  /** Closes all parts, also when one of them fails; then it throws. What was acknowledged is stored. */
  async close(): Promise<void> {
    this.stopReading()
    this.#unsubscribe()
    const errors: unknown[] = []
    // One after the other: files publish events.
    for (const part of [this.files, this.events, this.blobs])
      await part.close().catch((error: unknown) => errors.push(error))
    if (errors.length > 0) throw errors[0]
  }
}

function openBlobs(name: string, { folder, threads, onDamage, disk, background }: TopicParts): ThreadedBlobs {
  const notified = { threads, onDamage, notify: disk.onNotice, background: background.onNotice }
  const blobs = new ThreadedBlobs(blobFile(folder, name), notified)
  disk.setProbe('blobs', () => blobs.probe())
  threads.setRestart('blobs', () => blobs.probe())
  background.setRetry(['count_blobs', 'blob_read_time'], () => blobs.probe())
  return blobs
}

function changedBetween(before: SettingsDocument, after: SettingsDocument): string[] {
  return changedPaths(before as unknown as JsonObject, after as unknown as JsonObject)
}
