import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { DiskErrors } from '../../src/node/disk-errors.ts'
import { Health } from '../../src/observability/health.ts'
import { Metrics } from '../../src/observability/metrics.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

function diskErrors() {
  const runtime = virtualRuntime()
  const log: string[] = []
  const output = logOutput(textLine(false), { write: (text) => log.push(text), flush: async () => {} }, runtime.clock)
  const [health, metrics] = [new Health([]), new Metrics()]
  return {
    disk: new DiskErrors({ ...runtime, health, metrics, log: new Logger(output, 'disk') }),
    health,
    metrics,
    log,
    pass: (ms: number) => runtime.timers.advance(ms),
  }
}

test('disk failures are counted by work, logged once, and a reason until each of them recovers', () => {
  const { disk, health, metrics, log } = diskErrors()
  for (let i = 0; i < 3; i++) disk.onNotice({ work: 'publish', refused: 'it is full' })
  disk.onNotice({ work: 'blob_write', refused: 'it is full' })
  const both = 'storing events fails: it is full; storing blobs fails: it is full'
  assert.deepEqual(health.reasons(), [{ component: 'Disk', state: 'failed', detail: both }])
  disk.onNotice({ work: 'publish' })
  assert.deepEqual(health.reasons()[0]?.detail, 'storing blobs fails: it is full')
  disk.onNotice({ work: 'blob_write' })
  assert.deepEqual(health.reasons(), [])
  assert.match(metrics.text(), /shoal_disk_errors_total\{work="publish"\} 3\n/)
  assert.match(metrics.text(), /shoal_disk_errors_total\{work="blob_write"\} 1\n/)
  assert.equal(log.length, 4)
  disk.stop()
})

test('only a failing area of the disk is probed', () => {
  const { disk, pass } = diskErrors()
  const probed: string[] = []
  for (const area of ['events', 'files', 'blobs'] as const)
    disk.setProbe(area, async () => {
      probed.push(area)
      throw new Error('it is full')
    })
  pass(2 * limits.diskProbeMs)
  assert.deepEqual(probed, [], 'nothing is probed while the disk works')
  disk.onNotice({ work: 'upload', refused: 'it is full' })
  pass(2 * limits.diskProbeMs)
  assert.deepEqual(probed, ['files', 'files'])
  disk.onNotice({ work: 'upload' })
  pass(2 * limits.diskProbeMs)
  assert.deepEqual(probed, ['files', 'files'])
})

test('failures of databases that were closed are forgotten, without a line that they work again', () => {
  const { disk, health, log, pass } = diskErrors()
  disk.setProbe('files', () => assert.fail('it is closed'))
  disk.onNotice({ work: 'upload', refused: 'it is full' })
  disk.reset()
  assert.deepEqual(health.reasons(), [])
  pass(2 * limits.diskProbeMs)
  assert.equal(log.length, 1)
  disk.onNotice({ work: 'upload', refused: 'it is full' })
  assert.deepEqual([health.reasons().length, log.length], [1, 2])
  disk.stop()
})
