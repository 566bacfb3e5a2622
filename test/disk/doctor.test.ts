import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diagnose } from '../../src/cli/commands/doctor.ts'
import { initLocal } from '../../src/cli/commands/settings.ts'
import type { Finding } from '../../src/cli/doctor/finding.ts'
import { SmallDisk } from './disks.ts'

const none = { api: [], admin: [], swarm: [] }

test('doctor finds a disk that is nearly full, and one that is read-only', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const folder = disk.file('data')
  await initLocal(folder, false)
  const found = async (): Promise<Finding | undefined> => {
    const { json } = await diagnose({ folder }, none, false)
    return (json as { findings: Finding[] }).findings.find(({ check }) => check === 'disk')
  }
  assert.equal(await found(), undefined)
  disk.fill()
  assert.deepEqual(
    [(await found())?.severity, (await found())?.problem],
    ['error', `The disk of ${folder} has 0 MiB left of 16 MiB.`],
  )
  disk.makeSpace()
  disk.remount('ro')
  assert.equal((await found())?.problem, `${folder} is on a read-only file system.`)
})
