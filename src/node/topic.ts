import { messageOf } from '../base/errors.ts'
import type { Events } from '../events/index.ts'
import type { Files } from '../files/index.ts'
import { changedPaths, type JsonObject, type SettingsDocument } from '../settings/index.ts'
import { blobFile, ThreadedBlobs } from '../store/index.ts'
import type { SwarmStore } from '../swarm/index.ts'
import { Maintenance } from './maintenance.ts'
import { openEvents } from './open-events.ts'
import { openFiles } from './open-files.ts'
import type { TopicParts } from './topic-parts.ts'

type Closing = () => void | Promise<void>

interface OpenedParts {
  readonly name: string
  readonly events: Events
  readonly files: Files
  readonly blobs: ThreadedBlobs
  readonly maintenance: Maintenance
  /** What the swarm needs of the topic. */
  readonly store: SwarmStore
  /** What to do to close the parts, in this order. */
  readonly closing: readonly Closing[]
}

/** An open topic: its events, files and blobs, and their upkeep. */
export class Topic {
  readonly name: string
  readonly events: Events
  readonly files: Files
  readonly blobs: ThreadedBlobs
  readonly store: SwarmStore
  readonly #maintenance: Maintenance
  readonly #closing: readonly Closing[]

  private constructor({ name, events, files, blobs, maintenance, store, closing }: OpenedParts) {
    this.name = name
    this.events = events
    this.files = files
    this.blobs = blobs
    this.store = store
    this.#maintenance = maintenance
    this.#closing = closing
  }

  /** Opens all parts, or none: those that are open are closed when another one fails. */
  static async open(name: string, parts: TopicParts): Promise<Topic> {
    const before = parts.settings.document
    const opened = await openEvents(name, parts)
    const closing: Closing[] = [() => opened.events.close()]
    try {
      return await Topic.#openOthers(name, parts, opened, before, closing)
    } catch (error) {
      for (const failure of await closeAll(closing))
        parts.log.error(`a part of the topic could not be closed: ${messageOf(failure)}`)
      throw error
    }
  }

  /** @param closing what to do to close the parts, in this order; those that are opened are added to it */
  static async #openOthers(
    name: string,
    parts: TopicParts,
    { events, store, gate, apply: applyToEvents }: Awaited<ReturnType<typeof openEvents>>,
    before: SettingsDocument,
    closing: Closing[],
  ): Promise<Topic> {
    const { settings, background } = parts
    const { files, apply: applyToFiles } = await openFiles(name, events, parts)
    // Files publish events.
    closing.unshift(() => files.close())
    const blobs = openBlobs(name, parts)
    closing.push(() => blobs.close())
    const maintenance = new Maintenance({ ...parts, events, background: background.onNotice }, parts.retentionMs)
    closing.unshift(() => maintenance.stop())
    background.setRetry(['prune'], () => maintenance.prune())
    background.setRetry(['metrics_event'], () => maintenance.publishMetrics())
    const apply = (change: { readonly paths: readonly string[]; readonly after: SettingsDocument }): void => {
      applyToEvents(change)
      applyToFiles(change)
    }
    const unsubscribe = settings.onChange(apply)
    closing.unshift(unsubscribe)
    // What was changed while the topic was opened.
    apply({ paths: changedBetween(before, settings.document), after: settings.document })
    const swarmStore = { link: () => store.link(), gate, linkBlocks: () => files.blocks.link() }
    return new Topic({ name, events, files, blobs, maintenance, store: swarmStore, closing })
  }

  /** Fails open queries and subscriptions, and starts no other ones; publishing goes on. */
  stopReading(): void {
    this.#maintenance.stop()
    this.events.stopReading()
  }

  /** Closes all parts, also when one of them fails; then it throws. What was acknowledged is stored. */
  async close(): Promise<void> {
    this.stopReading()
    const errors = await closeAll(this.#closing)
    if (errors.length > 0) throw errors[0]
  }
}

/** Closes one part after the other, also when one of them fails. Returns the failures. */
async function closeAll(closing: readonly Closing[]): Promise<readonly unknown[]> {
  const failures: unknown[] = []
  for (const close of closing)
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  return failures
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
