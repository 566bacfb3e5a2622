import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { restart } from './target.ts'

/** Clock skew in seconds from which there is a warning. */
const clockWarning = 2
/** Clock skew in seconds from which it is an error: timestamps mislead people, and retention by age is off. */
const clockError = 60

/** Readiness, clock and replication of a running node. */
export function nodeFindings(facts: Facts): Finding[] {
  return [...healthFindings(facts), ...clockFindings(facts), ...replicationFindings(facts), ...swarmFindings(facts)]
}

function healthFindings({ running, target }: Facts): Finding[] {
  return (running?.problems ?? []).map(({ component, detail }) => ({
    check: 'health',
    severity: running?.phase === 'starting' && detail === undefined ? 'note' : 'error',
    problem: detail === undefined ? `${component} is not up yet.` : `${component}: ${detail}`,
    why: 'The node is not ready (/readyz), and supervisors may restart it.',
    fix:
      component === 'Store'
        ? [`shoal store verify ${target.argument}`]
        : [`shoal doctor ${target.argument}   # again in a minute`],
  }))
}

function clockFindings({ running }: Facts): Finding[] {
  const differences = Object.entries(running?.clockAhead ?? {})
  const off = differences.filter(([, seconds]) => Math.abs(seconds) >= clockWarning)
  if (off.length === 0) return []
  const why = 'Timestamps and retention by age use the wall clock, and apps of several nodes compare them.'
  const severity = off.some(([, seconds]) => Math.abs(seconds) >= clockError) ? 'error' : 'warning'
  // When most of several peers differ in the same direction, the own clock is the one that is off.
  const sides = [off.filter(([, seconds]) => seconds > 0), off.filter(([, seconds]) => seconds < 0)]
  const most = sides.find((side) => 2 * side.length > differences.length)
  if (differences.length > 1 && most !== undefined)
    return [
      {
        check: 'clock',
        severity,
        problem: `The clock of this node is ${difference(-smallest(most))} those of the other nodes.`,
        why,
        fix: ['timedatectl status', 'sudo timedatectl set-ntp true'],
      },
    ]
  return off.map(([node, seconds]) => ({
    check: 'clock',
    severity: Math.abs(seconds) >= clockError ? 'error' : 'warning',
    problem: `The clock of the node ${node} is ${difference(seconds)} that of this node.`,
    why,
    fix: ['sudo timedatectl set-ntp true   # on both machines'],
  }))
}

function smallest(differences: readonly (readonly [string, number])[]): number {
  return differences.map(([, seconds]) => seconds).reduce((a, b) => (Math.abs(a) < Math.abs(b) ? a : b))
}

function difference(seconds: number): string {
  return `${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'}`
}

function replicationFindings({ running, peers = [], settings, target }: Facts): Finding[] {
  if (running === undefined) return []
  const findings: Finding[] = []
  const { first, later, afterMs } = running.toReplicate
  if (later > 0 && later >= first)
    findings.push({
      check: 'replication',
      severity: peers.some(({ isConnected }) => isConnected) ? 'warning' : 'error',
      problem: `${later} events of other nodes are missing here, and none has arrived in ${afterMs / 1000} s.`,
      why: 'Queries on this node do not see them.',
      fix: [`shoal events offsets ${target.argument}`, `shoal top ${target.argument}`],
    })
  else if (later > 0)
    findings.push({
      check: 'replication',
      severity: 'note',
      problem: `${later} events of other nodes are missing here; ${first - later} arrived in ${afterMs / 1000} s.`,
      why: 'The node is catching up.',
      fix: [`shoal top ${target.argument}`],
    })
  if (settings?.api.events.readOnly === true)
    findings.push({
      check: 'replication',
      severity: 'warning',
      problem: 'The node is read-only (/api/events/readOnly): what is published here stays here.',
      why: 'Other nodes do not get its events.',
      fix: [`shoal settings set /api/events/readOnly false ${target.argument}`],
    })
  return findings
}

function swarmFindings({ running, settings, peers = [], target }: Facts): Finding[] {
  if (running === undefined) return []
  if (!running.hasSwarm)
    return [
      {
        check: 'replication',
        severity: 'note',
        problem: 'The node exchanges nothing with others: it runs with --standalone, or its swarm is starting.',
        why: 'Its events are on this disk only.',
        fix: restart(target, '', 'without --standalone and SHOAL_STANDALONE'),
      },
    ]
  // Failed connections have findings of their own.
  if (settings === undefined || peers.some(({ isConnected, failure }) => isConnected || failure !== undefined))
    return []
  const { mdns, initialPeers } = settings.swarm
  if (mdns || initialPeers.length > 0)
    return [
      {
        check: 'peers',
        severity: 'note',
        problem: 'No other node is connected.',
        why: 'The events of this node are on this disk only.',
        fix: [`shoal nodes inspect ${target.argument}`],
      },
    ]
  return [
    {
      check: 'peers',
      severity: 'warning',
      problem: 'The node looks for no others: /swarm/mdns is off, and /swarm/initialPeers is empty.',
      why: 'It is connected only to nodes that dial it.',
      fix: [`shoal settings set /swarm/mdns true ${target.argument}`],
    },
  ]
}
