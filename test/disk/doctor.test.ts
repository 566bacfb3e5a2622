import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertFinds, type ExpectedFinding } from '../support/doctor.ts'
import { Journey } from '../support/journey.ts'
import { shoal } from '../support/process.ts'
import { RunningNode } from '../support/running-node.ts'
import { SmallDisk } from './disks.ts'

const mebibyte = 1024 * 1024
const freePorts = ['--bind-api', '127.0.0.1:0', '--bind-admin', '127.0.0.1:0', '--bind-swarm', '127.0.0.1:0']

async function nodeOnDisk(t: TestContext): Promise<{ disk: SmallDisk; node: RunningNode; journey: Journey }> {
  const disk = SmallDisk.mount(t, '100m')
  const node = await RunningNode.start(t, join(disk.path, 'data'))
  return { disk, node, journey: new Journey(t) }
}

test('doctor finds a disk that is nearly full, by the folder and by the address of the node', async (t) => {
  const { disk, node, journey } = await nodeOnDisk(t)
  await journey.run(['users', 'keygen'], '\n')
  const finds = (argument: string, expected: readonly ExpectedFinding[]) =>
    assertFinds((...options) => shoal(t, ['doctor', argument, ...options], { env: journey.env }), expected)
  const withSpace = await finds(node.folder, [])
  assert.ok(!withSpace.some(({ check }) => check === 'disk'))
  // The reserve is a twentieth of the disk: 5 MiB.
  disk.fill({ leaving: 3 * mebibyte })
  await finds(node.folder, [['disk', 'warning', /^The disk of \S+\/data has [23] MiB left of 100 MiB\.$/]])
  await finds(node.admin, [['disk', 'warning', /^The disk of the node has [23] MiB left of 100 MiB\.$/]])
  disk.fill()
  await finds(node.folder, [['disk', 'error', /^The disk of \S+\/data has 0 MiB left of 100 MiB\.$/]])
})

test('doctor finds a disk that is read-only', async (t) => {
  const { disk, node, journey } = await nodeOnDisk(t)
  await node.stop()
  disk.remount('ro')
  await assertFinds(
    (...options) => shoal(t, ['doctor', node.folder, ...freePorts, ...options], { env: journey.env }),
    [
      ['running', 'error', /^No node runs in /],
      ['disk', 'error', /\/data is on a read-only file system\.$/],
    ],
  )
})
