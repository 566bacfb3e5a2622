import { quoted } from '../output/quoted.ts'
import { type DialProblem, dialProblem } from './dial-problem.ts'
import type { Facts, Reach } from './facts.ts'
import type { Finding } from './finding.ts'
import { onItsMachine, restart, type Target } from './target.ts'

/** Whether the node runs and answers this user. */
export function reachFindings({ reach, folder, target }: Facts): Finding[] {
  if (reach.is === 'running') return []
  if (reach.is === 'failed') return folder?.lock.is === 'held' ? [] : [failedFinding(reach, target)]
  // The check of the lock has a finding for it.
  if (folder?.lock.is === 'held') return []
  return [
    {
      check: 'running',
      severity: 'error',
      problem: `No node runs in ${folder?.path ?? 'the data folder'}.`,
      why: 'Apps cannot publish or query, and other nodes get no events from it.',
      fix: [`shoal run ${target.argument}`],
    },
  ]
}

function failedFinding({ code, message }: Extract<Reach, { is: 'failed' }>, target: Target): Finding {
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
        fix:
          target.is === 'folder'
            ? [`shoal users add-key ${quoted(target.folder)}`]
            : [onItsMachine('shoal users add-key'), `shoal users claim ${target.argument}`],
      }
    case 'ERR_NODE_UNREACHABLE':
      return { ...common, check: 'running', ...reachAdvice(dialProblem(message), target) }
    case 'ERR_INVALID_INPUT':
      return {
        ...common,
        check: 'running',
        why: 'There is no node to look at: neither a data folder nor an address that resolves.',
        fix: [target.is === 'folder' ? `shoal run ${target.argument}` : `getent hosts ${quoted(target.host)}`],
      }
    default:
      return {
        ...common,
        check: 'running',
        why: 'The node cannot be asked how it is.',
        fix: [`shoal doctor ${target.argument} -v`],
      }
  }
}

function reachAdvice(problem: DialProblem, target: Target): Pick<Finding, 'why' | 'fix'> {
  if (target.is === 'folder')
    return { why: 'The node cannot be managed from here.', fix: [`shoal nodes ls ${target.argument}`] }
  const { host } = target
  switch (problem) {
    case 'refused':
      return {
        why: 'The machine answers, but no node listens there: it is stopped, or its admin port is on loopback only.',
        fix: [onItsMachine('shoal doctor'), ...restart(target, '--bind-admin 0.0.0.0:4458')],
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
      return { why: 'The node cannot be managed from here.', fix: [`shoal nodes ls ${target.argument}`] }
  }
}
