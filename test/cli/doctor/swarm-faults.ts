import type { Facts, PeerFacts } from '../../../src/cli/doctor/facts.ts'
import { publicSwarmKey, type SettingsDocument } from '../../../src/settings/index.ts'
import { addressTarget, type Fault, healthy, healthySettings, node, peerId } from './facts.ts'

const failing = (reason: string, more: Partial<PeerFacts> = {}): Facts => {
  const failure = { address: '/ip4/10.0.0.2/tcp/4001', reason }
  return { ...healthy, peers: [{ peerId, name: '', isInitial: true, isConnected: false, failure, ...more }] }
}
const swarm = (changed: Partial<SettingsDocument['swarm']>): SettingsDocument => {
  const settings = healthySettings()
  return { ...settings, swarm: { ...settings.swarm, ...changed } }
}
export const unclaimed = (): SettingsDocument => {
  const settings = healthySettings()
  return { ...settings, admin: { ...settings.admin, authorizedUsers: [] } }
}

export const swarmFaults: readonly Fault[] = [
  [
    'another swarm key',
    failing('the other side has another swarm key'),
    'swarm key',
    'error',
    /initial peer 12D3.*\$ shoal settings get \/swarm\/swarmKey --working-dir/s,
  ],
  [
    'another swarm key of a node that dials',
    node({ inboundFailures: { 'the other side has another swarm key': 3, other: 1 } }),
    'swarm key',
    'warning',
    /^warning +3 connections/,
  ],
  [
    'another topic',
    failing("the node is in the topic 'it''s $(x)', this node in 'b'"),
    'topic',
    'error',
    /\$ shoal settings set \/swarm\/topic '"it'\\'''\\''s \$\(x\)"' --working-dir/,
  ],
  [
    'an initial peer without a node',
    failing('connection refused: no node listens at this address'),
    'peers',
    'error',
    /no node listens at this port.*initialPeers/s,
  ],
  [
    'a node that was known and is gone',
    failing('connection refused: no node listens at this address', { isInitial: false, name: 'Press 8' }),
    'peers',
    'warning',
    /The node Press 8 \(12D3/,
  ],
  [
    'a firewall of a peer',
    failing('no answer within the time-out'),
    'peers',
    'error',
    /firewall.*ufw allow 4001\/tcp/s,
  ],
  ['no route to a peer', failing('no route to this address'), 'peers', 'error', /\$ ip route get 10\.0\.0\.2$/m],
  [
    'a firewall of this machine',
    failing('the firewall of this machine forbids the connection'),
    'peers',
    'error',
    /nft list ruleset/,
  ],
  [
    'a peer whose name is unknown',
    failing('the host name cannot be resolved'),
    'peers',
    'error',
    /getent hosts 10\.0\.0\.2$/m,
  ],
  [
    'another node at the address of a peer',
    failing(`another node has this address: ${peerId}`),
    'peers',
    'error',
    /nodes inspect 10\.0\.0\.2/,
  ],
  [
    'the own address as a peer',
    failing('this is an address of this node itself'),
    'peers',
    'error',
    /not connect to itself/,
  ],
  [
    'an address that cannot be dialled',
    failing('this address cannot be dialled: only TCP is supported'),
    'peers',
    'error',
    /by TCP/,
  ],
  ['an unknown failure', failing('something new'), 'peers', 'error', /something new.*nodes inspect/s],
  [
    'no way to find others',
    { ...healthy, peers: [], settings: swarm({ mdns: false }) },
    'peers',
    'warning',
    /\/swarm\/mdns true/,
  ],
  ['no other node', { ...healthy, peers: [] }, 'peers', 'note', /No other node is connected/],
  [
    'a standalone node',
    node({ hasSwarm: false }),
    'replication',
    'note',
    /\$ shoal nodes shutdown .*\$ shoal run --working-dir \/data +# without --standalone/s,
  ],
  [
    'events that do not arrive',
    node({ toReplicate: { first: 5, later: 5, afterMs: 2000 } }),
    'replication',
    'warning',
    /5 events.*none has arrived in 2 s/,
  ],
  [
    'events that arrive',
    node({ toReplicate: { first: 9, later: 5, afterMs: 2000 } }),
    'replication',
    'note',
    /4 arrived in 2 s/,
  ],
  [
    'a read-only node',
    { ...healthy, settings: { ...healthySettings(), api: { events: { readOnly: true } } } },
    'replication',
    'warning',
    /readOnly false/,
  ],
  [
    'an unsigned app on a licensed node',
    node({ refusedApps: [{ appId: 'com.acme.app', reason: "Trial app id needs to start with 'com.example.'." }] }),
    'apps',
    'error',
    /com\.acme\.app got no token.*\$ shoal settings unset \/licensing\/node --working-dir/s,
  ],
  [
    'an app without a licence',
    node({
      refusedApps: [{ appId: 'com.acme.app', reason: "App 'com.acme.app' is not authorized: no license found." }],
    }),
    'apps',
    'error',
    /\$ shoal settings set \/licensing\/apps\/com\.acme\.app LICENCE/,
  ],
  [
    'a node without a licence',
    node({ refusedApps: [{ appId: 'com.acme.app', reason: 'Node is not licensed: license expired.' }] }),
    'apps',
    'error',
    /\/licensing\/node LICENCE/,
  ],
  [
    'a signature that cannot be checked',
    node({ refusedApps: [{ appId: 'com.acme.app', reason: 'Invalid manifest.' }] }),
    'apps',
    'error',
    /\$ shoal nodes shutdown --working-dir \/data\n +\$ shoal run --root-public-key KEY --working-dir/,
  ],
  [
    'the public swarm key',
    { ...healthy, settings: swarm({ swarmKey: publicSwarmKey }) },
    'exposure',
    'warning',
    /public default.*swarms keygen/s,
  ],
  ['an unclaimed node', { ...healthy, settings: unclaimed() }, 'exposure', 'note', /\$ shoal users add-key \/data$/m],
  [
    'an unclaimed node that others reach',
    { ...node({ adminAddresses: ['/ip4/0.0.0.0/tcp/4458'] }), target: addressTarget('press7'), settings: unclaimed() },
    'exposure',
    'warning',
    /\$ shoal users claim press7$/m,
  ],
  [
    'an open API',
    node({ apiAddresses: ['/ip6/::/tcp/4454'] }),
    'exposure',
    'warning',
    /open to the network: \/ip6\/::\/tcp\/4454.*\$ shoal nodes shutdown .*\$ shoal run --bind-api localhost --working/s,
  ],
  [
    'an open API of a node on another machine',
    { ...node({ apiAddresses: ['/ip4/0.0.0.0/tcp/4454'] }), target: addressTarget('press7') },
    'exposure',
    'warning',
    /\$ shoal run --bind-api localhost --working-dir DATA_FOLDER +# on the machine of the node$/m,
  ],
  [
    'a node that listens for others on loopback',
    node({ swarmAddresses: ['/ip4/127.0.0.1/tcp/4001', '/ip6/::1/tcp/4001'] }),
    'peers',
    'warning',
    /on loopback only: \/ip4\/127.*\$ shoal nodes shutdown .*\$ shoal run --bind-swarm 4001 /s,
  ],
  [
    'announced addresses that lead nowhere',
    { ...healthy, settings: swarm({ announceAddresses: ['/ip4/10.0.0.9/tcp/4001', '/ip4/0.0.0.0/tcp/4001'] }) },
    'peers',
    'warning',
    /announceAddresses: \/ip4\/0\.0\.0\.0\/tcp\/4001\./,
  ],
]
