import { messageOf } from '../base/errors.ts'
import type { Events } from '../events/index.ts'
import { Files } from '../files/index.ts'
import { nodeIdOf } from '../identity/index.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { clampSettings, type SettingsChange } from '../settings/index.ts'
import { blockFile, type CacheLimits } from '../store/index.ts'
import type { TopicParts } from './topic-parts.ts'

type FileParts = Runtime &
  Pick<
    TopicParts,
    'folder' | 'key' | 'settings' | 'log' | 'blockMetrics' | 'disk' | 'background' | 'threads' | 'onDamage'
  >

interface OpenedFiles {
  readonly files: Files
  /** Applies a changed interval of the garbage collection. */
  apply(change: Pick<SettingsChange, 'paths'>): void
}

/** Opens the files of a topic, and starts the garbage collection of unpinned blocks. */
export async function openFiles(topic: string, events: Events, parts: FileParts): Promise<OpenedFiles> {
  const { folder, key, settings, log, blockMetrics, disk, background, threads, onDamage, clock, timers } = parts
  const blockTimeoutMs = (): number => clampSettings(settings.document).settings.swarm.bitswapTimeout * 1000
  const files = new Files({
    file: blockFile(folder, topic),
    node: nodeIdOf(key.publicKey),
    events,
    log: log.module('files'),
    clock,
    timers,
    blockTimeoutMs,
    threads,
    onDamage,
    disk: disk.onNotice,
    background: background.onNotice,
    measure: blockMetrics.measure,
  })
  try {
    return { files, apply: connect(files, parts) }
  } catch (error) {
    await files.close().catch((failure: unknown) => log.error(`the files cannot be closed: ${messageOf(failure)}`))
    throw error
  }
}

/** Connects the files with the rest of the node. Returns what applies changed settings. */
function connect(files: Files, { settings, blockMetrics, disk, background, threads }: FileParts): OpenedFiles['apply'] {
  blockMetrics.files = files
  disk.setProbe('files', () => files.probe())
  threads.setRestart('files', () => files.probe())
  const cache = (): CacheLimits => {
    const { blockCacheCount, blockCacheSize } = settings.document.swarm
    return { count: blockCacheCount, bytes: blockCacheSize }
  }
  const collect = (): void => files.collectEvery(clampSettings(settings.document).settings.swarm.blockGcInterval, cache)
  collect()
  background.setRetry(['evict'], () => files.collectAndReport(cache()))
  background.setRetry(['keep_files'], () => files.runQueries())
  background.setRetry(['count_files'], () => files.probe())
  background.setRetry(['fetch_files'], () => files.blocks.checkRoom())
  return ({ paths }) => {
    if (paths.includes('/swarm/blockGcInterval')) collect()
  }
}
