import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { LogFilter, Logger } from '../../../src/logging/index.ts'
import { FailureLog } from '../../../src/swarm/thread/failure-log.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

function opened() {
  const { clock, timers } = virtualRuntime()
  const lines: string[] = []
  const write = ({ level, message, fields }: { level: string; message: string; fields: object }): void =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const log = new Logger({ filter: new LogFilter('INFO'), clock, write }, 'swarm')
  return { failures: new FailureLog(log, timers), timers, lines }
}

test('a failure that requests of peers repeat is logged once, then as one count a minute, and each is counted', () => {
  const { failures, timers, lines } = opened()
  for (let i = 0; i < 30; i++) {
    failures.add('replication', new Error('chunk 5 is damaged'))
    timers.advance(2000)
  }
  assert.deepEqual(lines, [
    'ERROR replication failed: chunk 5 is damaged {}',
    'ERROR replication failed: chunk 5 is damaged {"count":29}',
  ])
  assert.deepEqual(failures.counts, { replication: 30, removal: 0, blocks: 0, settings: 0 })
})

test('failures of another kind are logged at once, up to a number of kinds', () => {
  const { failures, timers, lines } = opened()
  for (let i = 0; i < limits.throttledLogKinds + 5; i++) failures.add('blocks', new Error(`block ${i} is damaged`))
  assert.equal(lines.length, limits.throttledLogKinds)
  timers.advance(limits.throttledLogMs)
  assert.equal(lines.at(-1), 'ERROR more failures of other kinds {"count":5}')
})
