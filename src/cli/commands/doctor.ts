import type { Endpoints } from '../../node/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import type { NamedNode } from '../client/on-node.ts'
import { gatherFacts } from '../doctor/gather.ts'
import { checksOf, findingsOf, reportText } from '../doctor/report.ts'
import type { Result } from '../output/output.ts'

/** Looks for faults of a node. The exit code is 1 if there is an error, with `isStrict` also if there is a warning. */
export async function diagnose(named: NamedNode, endpoints: Endpoints, isStrict: boolean): Promise<Result> {
  const facts = await gatherFacts(named, endpoints, systemRuntime)
  const findings = findingsOf(facts)
  const checks = checksOf(facts)
  return {
    text: () => reportText(findings, checks),
    json: { reach: facts.reach.is, checks, findings },
    failed: findings.some(({ severity }) => severity === 'error' || (isStrict && severity === 'warning')),
  }
}
