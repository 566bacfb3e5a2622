import { publicSwarmKey } from '../../settings/index.ts'
import { quoted } from '../output/quoted.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { isReachable } from './multiaddrs.ts'
import { restart } from './target.ts'

/** What other machines on the network can do with the node. */
export function exposureFindings(facts: Facts): Finding[] {
  return [...keyFindings(facts), ...claimFindings(facts), ...apiFindings(facts)]
}

function keyFindings({ settings, target }: Facts): Finding[] {
  if (settings?.swarm.swarmKey !== publicSwarmKey) return []
  return [
    {
      check: 'exposure',
      severity: 'warning',
      problem: 'The swarm key is the public default.',
      why: 'Every node on this network that has not set a key either can read all events and publish.',
      fix: [`shoal settings set /swarm/swarmKey "$(shoal swarms keygen)" ${target.argument}`],
    },
  ]
}

function claimFindings({ settings, running, target }: Facts): Finding[] {
  if (settings === undefined || settings.admin.authorizedUsers.length > 0) return []
  const isOpen = running?.adminAddresses.some(isReachable) ?? false
  return [
    {
      check: 'exposure',
      severity: isOpen ? 'warning' : 'note',
      problem: 'The node is not claimed: /admin/authorizedUsers is empty.',
      why: isOpen
        ? 'The first user with its one-time code manages it, and its admin port is reachable from the network.'
        : 'It cannot be managed from other machines until a user key is authorized.',
      fix: [
        'shoal users keygen',
        target.is === 'folder'
          ? `shoal users add-key ${quoted(target.folder)}`
          : `shoal users claim ${target.argument}`,
      ],
    },
  ]
}

function apiFindings({ running, target }: Facts): Finding[] {
  const open = running?.apiAddresses.filter(isReachable) ?? []
  if (open.length === 0) return []
  return [
    {
      check: 'exposure',
      severity: 'warning',
      problem: `The API is open to the network: ${open.join(', ')}.`,
      why: 'Every machine that reaches it gets a token for an app of com.example, and can read and publish events.',
      fix: restart(target, '--bind-api localhost'),
    },
  ]
}
