import { escapeLine } from '../../base/control-characters.ts'
import { addressFindings } from './address-checks.ts'
import { appFindings } from './app-checks.ts'
import { exposureFindings } from './exposure-checks.ts'
import type { Facts } from './facts.ts'
import { type Check, type CheckName, checkNames, type Finding, type Severity } from './finding.ts'
import { machineFindings } from './machine-checks.ts'
import { nodeFindings } from './node-checks.ts'
import { peerFindings } from './peer-checks.ts'
import { reachFindings } from './reach-checks.ts'

const allChecks: readonly Check[] = [
  reachFindings,
  machineFindings,
  nodeFindings,
  peerFindings,
  addressFindings,
  appFindings,
  exposureFindings,
]

const severities: readonly Severity[] = ['error', 'warning', 'note']

/** All findings, the worst first. */
export function findingsOf(facts: Facts): Finding[] {
  const found = allChecks.flatMap((check) => check(facts))
  return severities.flatMap((severity) => found.filter((finding) => finding.severity === severity))
}

/** The checks for which there are facts. */
export function checksOf({ folder, ports, settings, running, peers }: Facts): CheckName[] {
  const possible: Readonly<Record<CheckName, boolean>> = {
    running: true,
    access: true,
    ports: ports !== undefined,
    lock: folder !== undefined,
    disk: folder !== undefined || running?.disk !== undefined,
    identity: folder !== undefined,
    settings: settings !== undefined || folder?.settingsError !== undefined,
    health: running !== undefined,
    clock: running !== undefined,
    // A stopped node has not seen the keys and topics of others.
    'swarm key': running !== undefined,
    topic: running !== undefined,
    peers: peers !== undefined,
    replication: running !== undefined,
    apps: running !== undefined,
    exposure: settings !== undefined,
  }
  return checkNames.filter((name) => possible[name])
}

/** What `doctor` prints for people. */
export function reportText(findings: readonly Finding[], checks: readonly CheckName[]): string {
  const blocks = findings.map(({ severity, problem, why, fix }) =>
    [
      `${severity.padEnd(8)} ${escapeLine(problem)}`,
      `         ${escapeLine(why)}`,
      ...fix.map((command) => `         $ ${escapeLine(command)}`),
      '',
    ].join('\n'),
  )
  return [...blocks, summary(findings, checks)].join('\n')
}

function summary(findings: readonly Finding[], checks: readonly CheckName[]): string {
  const clean = checks.filter((name) => findings.every(({ check }) => check !== name))
  const counts = severities.flatMap((severity) => {
    const count = findings.filter((finding) => finding.severity === severity).length
    return count === 0 ? [] : [`${count} ${severity}${count === 1 ? '' : 's'}`]
  })
  const found = counts.length === 0 ? 'Nothing was found' : counts.join(', ')
  return clean.length === 0 ? `${found}.` : `${found}. Without a finding: ${clean.join(', ')}.`
}
