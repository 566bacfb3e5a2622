import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { BackgroundErrors } from '../../src/node/background-errors.ts'
import { ThreadFailures } from '../../src/node/thread-failures.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { type BackgroundNotice, BackgroundReporter } from '../../src/store/index.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

function parts() {
  const runtime = virtualRuntime()
  const log: string[] = []
  const output = logOutput(textLine(false), { write: (text) => log.push(text), flush: async () => {} }, runtime.clock)
  return { ...runtime, health: new Health([]), metrics: new Metrics(), log: new Logger(output, 'test'), lines: log }
}

test('failing background work is counted, logged with throttling, and a reason until it recovers', () => {
  const { lines, ...given } = parts()
  const background = new BackgroundErrors(given)
  for (let i = 0; i < 3; i++) background.onNotice({ work: 'seal', error: 'it broke' })
  background.onNotice({ work: 'evict', error: 'it broke, too' })
  const detail = 'sealing events fails: it broke; evicting blocks of files fails: it broke, too'
  assert.deepEqual(given.health.reasons(), [{ component: 'Background', state: 'failed', detail }])
  assert.equal(lines.length, 2)
  given.timers.advance(limits.throttledLogMs)
  assert.equal(lines.length, 3)
  assert.match(lines[2] ?? '', /ERROR test: sealing events fails: it broke .*2/)
  background.onNotice({ work: 'seal' })
  background.onNotice({ work: 'evict' })
  assert.deepEqual(given.health.reasons(), [])
  assert.match(given.metrics.text(), /shoal_background_errors_total\{work="seal"\} 3\n/)
})

test('background work that fails because of the disk is only counted', () => {
  const { lines, ...given } = parts()
  new BackgroundErrors(given).onNotice({ work: 'seal', error: 'it is full', isDisk: true })
  assert.match(given.metrics.text(), /shoal_background_errors_total\{work="seal"\} 1\n/)
  assert.deepEqual([given.health.reasons(), lines], [[], []])
})

test('failing work is retried periodically until it recovers or the node stops', () => {
  const { lines: _, ...given } = parts()
  const background = new BackgroundErrors(given)
  const tried: string[] = []
  const retry = (what: string) => async () => {
    tried.push(what)
    throw new Error('it is still broken')
  }
  background.setRetry(['seal', 'index'], retry('events'))
  background.setRetry(['evict'], retry('files'))
  const tick = (): string[] => {
    given.timers.advance(limits.failureRetryMs)
    return tried.splice(0)
  }
  assert.deepEqual(tick(), [])
  for (const work of ['seal', 'index', 'evict'] as const) background.onNotice({ work, error: 'it broke' })
  assert.deepEqual(tick(), ['events', 'files'])
  for (const work of ['seal', 'index'] as const) background.onNotice({ work })
  assert.deepEqual(tick(), ['files'])
  background.stop()
  assert.deepEqual(tick(), [])
})

test('a crashed thread is counted, logged, and a reason until it is restarted', () => {
  const { lines, ...given } = parts()
  const threads = new ThreadFailures(given)
  threads.started('blobs')
  threads.ended('blobs', new Error('out of memory'))
  const detail = 'the blobs thread has ended: out of memory'
  assert.deepEqual(given.health.reasons(), [{ component: 'Threads', state: 'failed', detail }])
  let restarts = 0
  threads.setRestart('blobs', async () => {
    restarts++
  })
  given.timers.advance(limits.failureRetryMs)
  assert.equal(restarts, 1)
  threads.started('blobs')
  assert.deepEqual(given.health.reasons(), [])
  assert.match(given.metrics.text(), /shoal_thread_ends_total\{thread="blobs"\} 1\n/)
  assert.match(lines.join(''), /ERROR test: the blobs thread has ended: out of memory/)
})

test('a reporter notifies of each failure and of the recovery, but not of work cancelled by a shutdown', () => {
  const notices: BackgroundNotice[] = []
  const reporter = new BackgroundReporter((notice) => notices.push(notice))
  reporter.succeeded('seal')
  reporter.failed('seal', failure('ERR_SHUTTING_DOWN', {}))
  assert.deepEqual(notices, [])
  reporter.failed('prune', new Error('no'), false, "stream 'a'")
  reporter.failed('prune', new Error('no'), true)
  reporter.succeeded('prune')
  reporter.succeeded('prune')
  assert.deepEqual(notices, [
    { work: 'prune', error: "stream 'a': no", isDisk: false },
    { work: 'prune', error: 'no', isDisk: true },
    { work: 'prune' },
  ])
})

test('failures of parts that were closed are forgotten, and not retried', () => {
  const { lines: _, ...given } = parts()
  const [background, threads] = [new BackgroundErrors(given), new ThreadFailures(given)]
  const retried = () => assert.fail('it is closed')
  background.setRetry(['seal'], retried)
  threads.setRestart('blobs', retried)
  background.onNotice({ work: 'seal', error: 'it broke' })
  threads.ended('blobs', new Error('out of memory'))
  for (const report of [background, threads]) report.reset()
  assert.deepEqual(given.health.reasons(), [])
  given.timers.advance(limits.failureRetryMs)
  background.onNotice({ work: 'seal', error: 'it broke again' })
  assert.equal(given.health.reasons().length, 1)
})
