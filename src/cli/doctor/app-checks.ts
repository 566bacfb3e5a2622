import { quoted } from '../quoted.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'

/** Apps that got no token, and what they need. */
export function appFindings({ running, target }: Facts): Finding[] {
  return (running?.refusedApps ?? []).map(({ appId, reason }) => ({
    check: 'apps',
    severity: 'error',
    problem: `The app ${appId} got no token: ${reason}`,
    ...advice(appId, reason, target),
  }))
}

function advice(appId: string, reason: string, target: string): Pick<Finding, 'why' | 'fix'> {
  const set = (scope: string): string => `shoal settings set ${quoted(scope)} LICENCE ${target}`
  if (/Trial app id/.test(reason))
    return {
      why: 'An app without a signed manifest needs an ID that starts with com.example.; others need a signature.',
      fix: [`shoal settings get /licensing ${target}   # the node is licensed`],
    }
  if (/Node is not licensed/.test(reason))
    return { why: 'Signed apps need a valid licence of the node.', fix: [set('/licensing/node')] }
  if (/licen[cs]e/i.test(reason))
    return {
      why: 'The node is licensed, so each signed app needs a valid licence.',
      fix: [set(`/licensing/apps/${appId}`)],
    }
  return {
    why: 'The manifest is checked against the key that signs developer certificates.',
    fix: [`shoal run --root-public-key KEY ${target}`],
  }
}
