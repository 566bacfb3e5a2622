import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { canBeDialled, isReachable } from './multiaddrs.ts'
import { restart } from './target.ts'

/** Whether other nodes find this one at the addresses that it binds and announces. */
export function addressFindings(facts: Facts): Finding[] {
  return facts.running?.hasSwarm === true ? [...boundFindings(facts), ...announcedFindings(facts)] : []
}

function boundFindings({ running, target }: Facts): Finding[] {
  const bound = running?.swarmAddresses ?? []
  if (bound.length === 0 || bound.some(isReachable)) return []
  return [
    {
      check: 'peers',
      severity: 'warning',
      problem: `The node listens for others on loopback only: ${bound.join(', ')}.`,
      why: 'Nodes on other machines cannot connect to it. It is connected only to those that it dials.',
      fix: restart(target, '--bind-swarm 4001'),
    },
  ]
}

function announcedFindings({ settings, target }: Facts): Finding[] {
  const useless = (settings?.swarm.announceAddresses ?? []).filter((address) => !canBeDialled(address))
  if (useless.length === 0) return []
  return [
    {
      check: 'peers',
      severity: 'warning',
      problem: `Other machines cannot connect to an address in /swarm/announceAddresses: ${useless.join(', ')}.`,
      why: 'The node tells others these addresses. They have to be those of its machine, as others see it.',
      fix: [`shoal settings set /swarm/announceAddresses '["/ip4/ADDRESS/tcp/4001"]' ${target.argument}`],
    },
  ]
}
