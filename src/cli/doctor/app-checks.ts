import { quoted } from '../output/quoted.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './finding.ts'
import { restart, type Target } from './target.ts'

/** Apps that got no token, and what they need. */
export function appFindings({ running, target }: Facts): Finding[] {
  return (running?.refusedApps ?? []).map(({ appId, reason }) => ({
    check: 'apps',
    severity: 'error',
    problem: `The app ${appId} got no token: ${reason}`,
    ...advice(appId, reason, target),
  }))
}

function advice(appId: string, reason: string, target: Target): Pick<Finding, 'why' | 'fix'> {
  const set = (scope: string): string => `shoal settings set ${quoted(scope)} LICENCE ${target.argument}`
  if (/Trial app id/.test(reason))
    return {
      why: 'On a licensed node an app without a signed manifest needs an ID that starts with com.example.: rename the app, or have its manifest signed.',
      fix: [`shoal settings unset /licensing/node ${target.argument}   # without a licence it admits every app`],
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
    fix: restart(target, '--root-public-key KEY'),
  }
}
