import { clampSettings, type SettingsDocument } from '../settings/index.ts'
import type { SwarmSettings } from './thread/thread-messages.ts'

/** The part of the settings that the swarm applies while it runs. */
export function swarmSettingsOf(document: SettingsDocument, logFilter: string): SwarmSettings {
  const { swarm, admin, api } = clampSettings(document).settings
  const gossipMs = 1000 * swarm.gossipInterval
  return {
    displayName: admin.displayName,
    initialPeers: swarm.initialPeers,
    announceAddresses: swarm.announceAddresses,
    mdns: swarm.mdns,
    pingTimeoutMs: 1000 * swarm.pingTimeout,
    gossipMs,
    lowLatencyMs: gossipMs * swarm.detectionCyclesLowLatency,
    highLatencyMs: gossipMs * swarm.detectionCyclesHighLatency,
    blockTimeoutMs: 1000 * swarm.bitswapTimeout,
    isReadOnly: api.events.readOnly,
    logFilter,
  }
}
