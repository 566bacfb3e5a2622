import type { Events } from '../events/index.ts'
import { Files } from '../files/index.ts'
import { type KeyPair, nodeIdOf } from '../identity/index.ts'
import type { Logger } from '../log/index.ts'
import { type Settings, usable } from '../settings/index.ts'
import { blockFile, type CacheLimits } from '../store/index.ts'

interface Parts {
  readonly folder: string
  readonly key: KeyPair
  readonly settings: Settings
  readonly events: Promise<Events>
  readonly log: Logger
}

/** Opens the files of the topic in the settings, and has what nothing holds collected while the node runs. */
export async function openFiles({ folder, key, settings, events, log }: Parts): Promise<Files> {
  const file = blockFile(folder, settings.document.swarm.topic)
  const files = new Files({ file, node: nodeIdOf(key.publicKey), events: await events, log })
  const cache = (): CacheLimits => {
    const { blockCacheCount, blockCacheSize } = settings.document.swarm
    return { count: blockCacheCount, bytes: blockCacheSize }
  }
  const collect = (): void => files.collectEvery(usable(settings.document).settings.swarm.blockGcInterval, cache)
  collect()
  settings.onChange(({ paths }) => {
    if (paths.includes('/swarm/blockGcInterval')) collect()
  })
  return files
}
