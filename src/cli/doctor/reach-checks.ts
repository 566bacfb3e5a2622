import { quoted } from '../quoted.ts'
import { type DialProblem, dialProblem } from './dial-problem.ts'
import type { Facts, Reach } from './facts.ts'
import type { Finding } from './finding.ts'

/** Whether the node runs and answers this user. */
export function reachFindings({ reach, folder, target }: Facts): Finding[] {
  if (reach.is === 'running') return []
  if (reach.is === 'failed') return folder?.lock.is === 'held' ? [] : [failedFinding(reach, target)]
  // Another finding says why it cannot run.
  if (folder?.lock.is === 'held') return []
  return [
    {
      check: 'running',
      severity: 'error',
      problem: `No node runs in ${folder?.path ?? 'the data folder'}.`,
      why: 'Apps cannot publish or query, and other nodes get no events from it.',
      fix: [`shoal run ${target}`],
    },
  ]
}

function failedFinding({ code, message }: Extract<Reach, { is: 'failed' }>, target: string): Finding {
  const common = { severity: 'error', problem: message } as const
  switch (code) {
    case 'ERR_USER_UNAUTHENTICATED':
    case 'ERR_PATH_INVALID':
      return {
        ...common,
        check: 'access',
        why: 'The admin port of a node only answers users who prove their key.',
        fix: ['shoal users keygen', 'shoal users pubkey'],
      }
    case 'ERR_UNAUTHORIZED':
      return {
        ...common,
        check: 'access',
        why: 'Only the keys in /admin/authorizedUsers may manage the node.',
        fix: ['shoal users add-key DATA_FOLDER   # on the machine of the node', `shoal users claim ${target}`],
      }
    case 'ERR_NODE_UNREACHABLE':
      return { ...common, check: 'running', ...reachAdvice(dialProblem(message), target) }
    case 'ERR_INVALID_INPUT':
      return {
        ...common,
        check: 'running',
        why: 'There is no node to look at: neither a data folder nor an address that resolves.',
        fix: [target.startsWith('--') ? `shoal run ${target}` : `getent hosts ${quoted(hostOf(target))}`],
      }
    default:
      return {
        ...common,
        check: 'running',
        why: 'The node cannot be asked how it is.',
        fix: [`shoal doctor ${target} -v`],
      }
  }
}

function reachAdvice(problem: DialProblem, target: string): Pick<Finding, 'why' | 'fix'> {
  const host = hostOf(target)
  switch (problem) {
    case 'refused':
      return {
        why: 'The machine answers, but no node listens there: it is stopped, or its admin port is on loopback only.',
        fix: ['shoal run --bind-admin 0.0.0.0:4458   # on the machine of the node'],
      }
    case 'timeout':
      return {
        why: 'Packets get no answer: the machine is off, or a firewall drops them.',
        fix: [`ping -c 3 ${quoted(host)}`, 'sudo ufw allow 4458/tcp   # on the machine of the node'],
      }
    case 'no route':
      return {
        why: 'This machine has no way to that address: a cable, a WLAN, a VPN or a route is missing.',
        fix: [`ip route get ${quoted(host)}`],
      }
    default:
      return { why: 'The node cannot be managed from here.', fix: [`shoal nodes ls ${target}`] }
  }
}

/** The host in `/ip4/10.0.0.7/tcp/4458`, `https://host:port`, `host:port` or `host`. */
function hostOf(target: string): string {
  return /^\/\w+\/([^/]+)/.exec(target)?.[1] ?? target.replace(/^https?:\/\//, '').replace(/:\d+\/?$/, '')
}
