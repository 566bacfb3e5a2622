/** When a changed setting takes effect: in the running node, or with its next start. */
type When = 'live' | 'restart'

/**
 * When the settings at and below a path take effect; the longest path decides. What the node does with a change is in
 * `src/node`: a listener of `Settings.onChange`, or reading the document each time.
 */
const table: Readonly<Record<string, When>> = {
  '/admin': 'live',
  '/api/events': 'live',
  '/eventRouting': 'live',
  '/licensing': 'live',
  '/swarm': 'restart',
  '/swarm/announceAddresses': 'live',
  '/swarm/bitswapTimeout': 'live',
  '/swarm/blockCacheCount': 'live',
  '/swarm/blockCacheSize': 'live',
  '/swarm/blockGcInterval': 'live',
  '/swarm/branchCacheSize': 'live',
  '/swarm/detectionCyclesHighLatency': 'live',
  '/swarm/detectionCyclesLowLatency': 'live',
  '/swarm/gossipInterval': 'live',
  '/swarm/initialPeers': 'live',
  '/swarm/mdns': 'live',
  '/swarm/metricsInterval': 'live',
  '/swarm/pingTimeout': 'live',
}

/** The changed paths of a document, by when they take effect. */
export interface Applied {
  readonly live: readonly string[]
  readonly restart: readonly string[]
}

export function whenApplied(paths: readonly string[]): Applied {
  const those = (when: When): string[] => paths.filter((path) => whenOf(path) === when)
  return { live: those('live'), restart: those('restart') }
}

function whenOf(path: string): When {
  for (let at = path; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const when = table[at]
    if (when !== undefined) return when
  }
  // Unknown to the table: the next start applies everything.
  return 'restart'
}
