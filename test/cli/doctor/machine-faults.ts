import type { Facts } from '../../../src/cli/doctor/facts.ts'
import { addressTarget, type Fault, folderTarget, healthyFolder, node, stopped } from './facts.ts'

const folder = (changed: Partial<typeof healthyFolder>): Facts => ({
  ...stopped,
  folder: { ...healthyFolder, ...changed },
})
const failed = (code: string, message: string, target = addressTarget('press7.local')): Facts => ({
  target,
  reach: { is: 'failed', code, message },
})
const port = { component: 'API', option: '--bind-api', port: 4454 }
const collision = { code: 'ERR_PORT_COLLISION', message: 'in use' }
const MiB = 1024 ** 2

export const machineFaults: readonly Fault[] = [
  ['a stopped node', stopped, 'running', 'error', /No node runs in \/data.*\$ shoal run --working-dir \/data$/s],
  [
    'a stopped node on another machine',
    failed('ERR_NODE_UNREACHABLE', 'connect ECONNREFUSED 10.0.0.7:4458'),
    'running',
    'error',
    /it is stopped.*\$ shoal nodes shutdown --working-dir DATA_FOLDER +# on .*\$ shoal run --bind-admin 0\.0\.0\.0:4458 /s,
  ],
  [
    'a machine behind a firewall',
    failed(
      'ERR_NODE_UNREACHABLE',
      'press7.local:4458: timeout',
      addressTarget('press7.local', 'https://press7.local:4458'),
    ),
    'running',
    'error',
    /firewall.*\$ ping -c 3 press7\.local$/ms,
  ],
  [
    'a machine without a route',
    failed('ERR_NODE_UNREACHABLE', 'connect EHOSTUNREACH', addressTarget('10.9.9.9', '/ip4/10.9.9.9/tcp/4458')),
    'running',
    'error',
    /\$ ip route get 10\.9\.9\.9$/m,
  ],
  [
    'another node at the address',
    failed('ERR_NODE_UNREACHABLE', 'wrong PeerId at press7'),
    'running',
    'error',
    /\$ shoal nodes ls press7\.local$/m,
  ],
  [
    'an unknown host name',
    failed('ERR_INVALID_INPUT', 'no addresses found for press7'),
    'running',
    'error',
    /\$ getent hosts press7\.local$/m,
  ],
  [
    'a folder that does not exist',
    failed('ERR_INVALID_INPUT', '/data does not exist', folderTarget),
    'running',
    'error',
    /\$ shoal run --working-dir \/data$/m,
  ],
  ['a node of an older version', failed('ERR_UNSUPPORTED', 'older'), 'running', 'error', /older/],
  [
    'a missing user key',
    failed('ERR_USER_UNAUTHENTICATED', 'There is no user key'),
    'access',
    'error',
    /\$ shoal users keygen$/m,
  ],
  [
    'a user who is not authorized',
    failed('ERR_UNAUTHORIZED', 'Provided key is not'),
    'access',
    'error',
    /\$ shoal users add-key/,
  ],
  [
    'a port of another program',
    { ...stopped, ports: [{ ...port, error: collision }] },
    'ports',
    'error',
    /Port 4454 \(API\) is in use by another program.*ss -ltnp 'sport = :4454'.*shoal run --bind-api 4554 --working/s,
  ],
  [
    'a port of another node',
    { ...stopped, ports: [{ ...port, error: collision, node: 'abc' }] },
    'ports',
    'error',
    /in use by the node abc/,
  ],
  [
    'a port without rights',
    {
      ...stopped,
      ports: [{ ...port, port: 80, error: { code: 'ERR_IO', message: 'Ports below 1024 need special rights.' } }],
    },
    'ports',
    'error',
    /special rights/,
  ],
  [
    'a stale lock',
    folder({ lock: { is: 'stale', pid: 9 } }),
    'lock',
    'warning',
    /stale: the process 9 .*\$ shoal store verify/s,
  ],
  [
    'a process that has the lock and does not answer',
    { ...folder({ lock: { is: 'held', pid: 9 } }), reach: { is: 'failed', code: 'ERR_IO', message: '' } },
    'lock',
    'error',
    /locked by the process 9.*\$ kill 9$/ms,
  ],
  [
    'a lock of an unknown process',
    folder({ lock: { is: 'held', pid: undefined } }),
    'lock',
    'error',
    /\$ fuser -v \/data\/lockfile$/m,
  ],
  [
    'a disk that is nearly full',
    folder({ disk: { free: 500 * MiB, total: 100_000 * MiB } }),
    'disk',
    'warning',
    /has 500 MiB left of 100000 MiB/,
  ],
  [
    'a full disk',
    folder({ disk: { free: 0, total: 100 * MiB } }),
    'disk',
    'error',
    /has 0 MiB left.*\$ df -h \/data$/ms,
  ],
  [
    'a disk of another machine that is nearly full',
    { ...node({ disk: { free: 500 * MiB, total: 100_000 * MiB } }), folder: undefined },
    'disk',
    'warning',
    /disk of the node has 500 MiB left.*\$ df -h DATA_FOLDER +# on the machine of the node/s,
  ],
  ['a read-only disk', folder({ access: 'read-only' }), 'disk', 'error', /read-only.*remount,rw/s],
  ['a folder of another user', folder({ access: 'denied' }), 'disk', 'error', /may not write.*chown/s],
  [
    'a missing key of the node',
    folder({ hasIdentity: false }),
    'identity',
    'error',
    /node\.db.*cp BACKUP\/node\.db \/data\//s,
  ],
  [
    'settings that cannot be read',
    folder({ settingsError: 'damaged' }),
    'settings',
    'error',
    /damaged.*settings local rollback/s,
  ],
  [
    'a node with a problem',
    node({ problems: [{ component: 'Store', detail: 'bad page' }] }),
    'health',
    'error',
    /Store: bad page.*\$ shoal store verify/s,
  ],
  [
    'a node that starts',
    node({ phase: 'starting', problems: [{ component: 'Swarm' }] }),
    'health',
    'note',
    /Swarm is not up yet/,
  ],
  [
    'a clock that is off',
    node({ clockAhead: { one: -300, two: -301, three: 0 } }),
    'clock',
    'error',
    /clock of this node is 300\.0 s ahead of.*set-ntp true/s,
  ],
  [
    'a clock of a peer that is off',
    node({ clockAhead: { one: 5, two: 0 } }),
    'clock',
    'warning',
    /clock of the node one is 5\.0 s ahead of/,
  ],
  [
    'two clocks that differ',
    node({ clockAhead: { one: -75 } }),
    'clock',
    'error',
    /clock of the node one is 75\.0 s behind/,
  ],
]
