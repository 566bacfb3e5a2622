import assert from 'node:assert/strict'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import type { Ended } from './process.ts'
import { until } from './process.ts'

/** A finding that a fault has to give: its check and severity, and what its problem says. */
export type ExpectedFinding = readonly [check: Finding['check'], severity: Finding['severity'], problem: RegExp]

/** Runs `shoal doctor` with options after it. */
export type RunDoctor = (...options: string[]) => Promise<Ended>

type Shown = Pick<Finding, 'severity' | 'problem'>

/**
 * Runs `shoal doctor` until it finds a fault: for programs and for people, with the same findings, and with no error that
 * is not expected. Returns the findings.
 */
export async function assertFinds(run: RunDoctor, expected: readonly ExpectedFinding[]): Promise<readonly Finding[]> {
  let last: Ended | undefined
  const hasAll = (findings: readonly Finding[]): boolean =>
    expected.every(([check, severity, problem]) =>
      findings.some((one) => one.check === check && one.severity === severity && problem.test(one.problem)),
    )
  // A node needs a while to see what keeps it from others.
  const machine = await until(
    async () => {
      last = await run('--json')
      return hasAll(findingsIn(last)) ? last : undefined
    },
    () => `${last?.stdout}${last?.stderr}`,
  )
  const findings = findingsIn(machine)
  const human = await run()
  const shown = shownIn(human)
  const isExpected = ({ severity, problem }: Shown): boolean =>
    expected.some((one) => one[1] === severity && one[2].test(problem))
  for (const [list, { code, stderr, stdout }] of [[findings, machine] as const, [shown, human] as const]) {
    const errors = list.filter(({ severity }) => severity === 'error')
    assert.deepEqual(
      errors.filter((error) => !isExpected(error)),
      [],
      'no other errors',
    )
    for (const [, severity, problem] of expected)
      assert.ok(
        list.some((one) => one.severity === severity && problem.test(one.problem)),
        `${problem}\n${stdout}`,
      )
    assert.deepEqual([code, stderr], [errors.length > 0 ? 1 : 0, ''], stdout)
  }
  return findings
}

function findingsIn({ stdout }: Ended): readonly Finding[] {
  const { code, result } = JSON.parse(stdout)
  assert.equal(code, 'OK', stdout)
  return result.findings
}

/** The findings in the output for people. Each has a line that says why it matters, and a command. */
function shownIn({ stdout }: Ended): readonly Shown[] {
  const blocks = stdout.trimEnd().split('\n\n')
  const summary = blocks.pop() ?? ''
  assert.match(summary, /^(\d|Nothing was found)/, stdout)
  return blocks.map((block) => {
    const [, severity, problem] = /^(error|warning|note) +(.*)\n {9}[^$ ].*(?:\n {9}\$ .*)+$/.exec(block) ?? []
    assert.ok(severity !== undefined && problem !== undefined, block)
    return { severity: severity as Finding['severity'], problem }
  })
}
