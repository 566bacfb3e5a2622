import { limits } from '../../base/limits.ts'
import { quoted } from '../output/quoted.ts'
import type { Facts, PortFacts } from './facts.ts'
import type { Finding } from './finding.ts'
import { onItsMachine } from './target.ts'

/** Checks of the machine on which the data folder is. */
export function machineFindings(facts: Facts): Finding[] {
  return [
    ...portFindings(facts),
    ...lockFindings(facts),
    ...accessFindings(facts),
    ...diskFindings(facts),
    ...identityFindings(facts),
  ]
}

function portFindings({ ports = [], target }: Facts): Finding[] {
  return ports.flatMap((port): Finding[] => {
    if (port.error === undefined) return []
    return [
      {
        check: 'ports',
        severity: 'error',
        problem: portProblem(port),
        why: 'A node that cannot listen on all of its addresses does not start.',
        fix: [
          ...(port.error.code === 'ERR_PORT_COLLISION' ? [`ss -ltnp 'sport = :${port.port}'`] : []),
          `shoal run ${port.option} ${otherPort(port.port)} ${target.argument}`,
        ],
      },
    ]
  })
}

function portProblem({ component, port, error, node }: PortFacts): string {
  if (error?.code !== 'ERR_PORT_COLLISION') return error?.message ?? ''
  const who = node === undefined ? 'another program' : `the node ${node}`
  return `Port ${port} (${component}) is in use by ${who}.`
}

function otherPort(port: number): number {
  return port + (port > 65_000 ? -100 : 100)
}

function lockFindings({ folder, reach, target }: Facts): Finding[] {
  if (folder === undefined || reach.is === 'running') return []
  const { lock } = folder
  const who = 'pid' in lock && lock.pid !== undefined ? `the process ${lock.pid}` : 'a process'
  if (lock.is === 'stale')
    return [
      {
        check: 'lock',
        severity: 'warning',
        problem: `The lock is stale: ${who} that had it ended without stopping.`,
        why: 'The node was killed or the power failed. The next start takes the lock over and repairs its files.',
        fix: [`shoal run ${target.argument}`, `shoal store verify ${target.argument}`],
      },
    ]
  if (lock.is === 'free') return []
  const stop = lock.pid === undefined ? [`fuser -v ${quoted(`${folder.path}/lockfile`)}`] : [`kill ${lock.pid}`]
  return [
    {
      check: 'lock',
      severity: 'error',
      problem: `The data folder is locked by ${who}, which does not answer on its control socket.`,
      why: 'It is starting, stopping or hanging, or another command works on the folder. No node can start meanwhile.',
      fix: stop,
    },
  ]
}

function accessFindings({ folder }: Facts): Finding[] {
  if (folder === undefined || folder.access === 'writable') return []
  const { access, path } = folder
  return [
    {
      check: 'disk',
      severity: 'error',
      problem: access === 'denied' ? `This user may not write to ${path}.` : `${path} is on a read-only file system.`,
      why: 'A node stores events, settings and its lock there: nothing can be published.',
      fix:
        access === 'denied'
          ? [`ls -ld ${quoted(path)}`, `sudo chown -R "$(id -un)" ${quoted(path)}`]
          : [`findmnt -T ${quoted(path)}`, `sudo mount -o remount,rw "$(findmnt -no TARGET -T ${quoted(path)})"`],
    },
  ]
}

/** The disk of a node on another machine is known from its metrics. */
function diskFindings({ folder, running, target }: Facts): Finding[] {
  const disk = folder === undefined ? running?.disk : folder.access === 'writable' ? folder.disk : undefined
  if (disk === undefined) return []
  const whose = folder === undefined ? 'the node' : folder.path
  const reserve = Math.min(limits.diskReserveBytes, disk.total / 20)
  if (disk.free >= reserve) return []
  const isFull = disk.free < reserve / 4
  return [
    {
      check: 'disk',
      severity: isFull ? 'error' : 'warning',
      problem: `The disk of ${whose} has ${mebibytes(disk.free)} left of ${mebibytes(disk.total)}.`,
      why: `Below ${mebibytes(reserve)} no files of other nodes are fetched, and on a full disk nothing can be published.`,
      fix: [
        folder === undefined ? onItsMachine('df -h') : `df -h ${quoted(folder.path)}`,
        `shoal store stats ${target.argument}`,
        `shoal topics ls ${target.argument}`,
      ],
    },
  ]
}

function identityFindings({ folder }: Facts): Finding[] {
  if (folder === undefined) return []
  const { path, hasEvents, hasIdentity, settingsError } = folder
  if (hasEvents && !hasIdentity)
    return [
      {
        check: 'identity',
        severity: 'error',
        problem: `${path} has events, but node.db with the key of their node is missing.`,
        why: 'Only this key can continue the streams of the node. It refuses to start without it.',
        fix: [`cp BACKUP/node.db ${quoted(path)}/`],
      },
    ]
  if (settingsError === undefined) return []
  return [
    {
      check: 'settings',
      severity: 'error',
      problem: `The settings cannot be read: ${settingsError}`,
      why: 'The node does not start with settings that it cannot read.',
      fix: [`shoal settings local rollback REVISION --working-dir ${quoted(path)}`],
    },
  ]
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024)} MiB`
}
