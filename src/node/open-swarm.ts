import type { KeyPair } from '../identity/index.ts'
import type { Listening } from '../listening/listen.ts'
import type { Logger, LogOutput } from '../logging/index.ts'
import type { Health } from '../observability/health.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Settings } from '../settings/index.ts'
import type { ThreadWatch } from '../store/index.ts'
import { Swarm, type SwarmStore, swarmSettingsOf } from '../swarm/index.ts'

interface Parts extends Runtime {
  readonly key: KeyPair
  readonly settings: Settings
  readonly health: Health
  readonly threads: ThreadWatch
  readonly output: LogOutput
  readonly log: Logger
}

/** Creates the swarm of a node. Its thread starts to load; changed settings are passed on to it. */
export function newSwarm({ clock, timers, random, key, settings, health, threads, output, log }: Parts): Swarm {
  const { swarm } = settings.document
  const filter = (): string => output.filter.text
  const created = new Swarm({
    runtime: { clock, timers, random },
    log,
    threads,
    key,
    topic: swarm.topic,
    swarmKey: swarm.swarmKey,
    settings: swarmSettingsOf(settings.document, filter()),
    onState: (problem) =>
      problem === undefined ? health.set('Swarm', 'started') : health.set('Swarm', 'failed', problem),
  })
  settings.onChange(({ after }) => created.apply(swarmSettingsOf(after, filter())))
  return created
}

/** Starts the swarm on the addresses that were bound for it. */
export async function startSwarm(swarm: Swarm, store: SwarmStore, bound: readonly Listening[]): Promise<void> {
  await swarm.start(
    store,
    bound.map(({ address, port }) => ({ host: address, port })),
  )
}
