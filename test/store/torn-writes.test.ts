import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Random } from '../../scripts/crash/random.ts'
import { verifyLog } from '../../src/store/sqlite/index.ts'
import { testRandom } from '../support/seed.ts'
import { memoryFolder } from './damage/folder.ts'
import { type Commit, contentsOf, type Disk, Recording, steps } from './damage/recording.ts'

/** By default only cuts around frame boundaries are tested. SHOAL_TORN=all tests every byte, which takes minutes. */
const everywhere = process.env['SHOAL_TORN'] === 'all'

const logHeaderBytes = 32
const frameBytes = 24 + 4096
/** Around the start of a frame, between its header and its page, and in the middle of both. */
const placesInFrame = [0, 1, 12, 23, 24, 25, 2000, frameBytes - 1]

function cuts(length: number, random: Random): number[] {
  if (everywhere) return Array.from({ length: length + 1 }, (_, i) => i)
  const header = [0, 1, logHeaderBytes - 1]
  const frames = Math.floor((length - logHeaderBytes) / frameBytes)
  const inFrames = Array.from({ length: frames }, (_, i) => logHeaderBytes + i * frameBytes).flatMap((start) => [
    ...placesInFrame.map((place) => start + place),
    start + random.below(frameBytes),
  ])
  return [...header, ...inFrames, length]
}

/** Asserts that the contents are those after some commit, and include every commit that had returned. */
function assertPrefix(commits: readonly Commit[], returned: number, contents: string, where: string): void {
  const found = commits.findIndex((commit) => commit.contents === contents)
  assert.ok(found >= 0, `${where}: the contents are of no commit`)
  assert.ok(
    found >= Math.max(0, returned),
    `${where}: '${commits[returned]?.name}' is lost, '${commits[found]?.name}' is the last`,
  )
}

interface Left {
  readonly file: string
  readonly disk: Disk
  readonly verifies: boolean
}

/** Opens what is left on disk, compares it with the commits, and optionally verifies it. */
function openLeft(left: Left, commits: readonly Commit[], returned: number, where: string): void {
  const { file, disk, verifies } = left
  assertPrefix(commits, returned, contentsOf(file, disk), where)
  if (verifies) assert.deepEqual(verifyLog(file).problems, [], where)
}

test('a write-ahead log that is truncated anywhere contains every commit that had returned', {
  timeout: 36_000_000,
}, (t) => {
  const folder = memoryFolder(t)
  const recording = new Recording(folder)
  t.after(() => recording.close())
  recording.run(steps(folder))
  const { commits } = recording
  const { database, log } = (commits.at(-1) as Commit).disk
  assert.ok(
    commits.every(({ disk }) => disk.database.equals(database)),
    'there was no checkpoint',
  )
  const file = join(folder, 'cut.db')
  const random = testRandom(t)
  const left = (disk: Disk): Left => ({ file, disk, verifies: random.chance(0.02) })
  const lengths = cuts(log.length, random)
  for (const length of lengths) {
    const kept = log.subarray(0, length)
    const returned = commits.findLastIndex(({ disk }) => disk.log.length <= length)
    openLeft(left({ database, log: kept }), commits, returned, `cut at ${length}`)
    // The file may have grown before its bytes were written.
    if (length % 4 === 0) {
      const grown = Buffer.concat([kept, Buffer.alloc(2 * frameBytes)])
      openLeft(left({ database, log: grown }), commits, returned, `zeros from ${length} on`)
    }
  }
  t.diagnostic(`${lengths.length} cuts, ${commits.length} commits, ${log.length} bytes`)
})

test('a write-ahead log that is overwritten from its start contains every commit that had returned', (t) => {
  const folder = memoryFolder(t)
  const recording = new Recording(folder)
  t.after(() => recording.close())
  const [before, after] = halves(steps(folder))
  recording.run(before)
  const { database, log: old } = recording.checkpoint()
  const restart = recording.commits.length - 1
  recording.run(after)
  const commits = recording.commits.slice(restart)
  const { log } = (commits.at(-1) as Commit).disk
  const ends = commits.map(({ disk }) => endOfChange(old, disk.log))
  const file = join(folder, 'cut.db')
  const random = testRandom(t)
  const left = (disk: Disk): Left => ({ file, disk, verifies: random.chance(0.02) })
  const lengths = cuts(ends.at(-1) as number, random)
  for (const length of lengths) {
    const mixed = Buffer.concat([log.subarray(0, length), old.subarray(length)])
    const returned = ends.findLastIndex((end) => end <= length)
    openLeft(left({ database, log: mixed }), commits, returned, `old bytes from ${length} on`)
  }
  t.diagnostic(`${lengths.length} cuts, ${commits.length} commits`)
})

test('an interrupted checkpoint loses nothing', (t) => {
  const folder = memoryFolder(t)
  const recording = new Recording(folder)
  t.after(() => recording.close())
  recording.run(steps(folder))
  const last = recording.commits.at(-1) as Commit
  const { database: checkpointed } = recording.checkpoint()
  const file = join(folder, 'mixed.db')
  const random = testRandom(t)
  const left = (disk: Disk): Left => ({ file, disk, verifies: random.chance(0.02) })
  for (let round = 0; round < 200; round++) {
    const database = mixedSectors(last.disk.database, checkpointed, random)
    openLeft(left({ database, log: last.disk.log }), [last], 0, 'some sectors are old, some are new')
  }
})

function halves<T>(all: Readonly<Record<string, T>>): [Record<string, T>, Record<string, T>] {
  const entries = Object.entries(all)
  const middle = Math.ceil(entries.length / 2)
  return [Object.fromEntries(entries.slice(0, middle)), Object.fromEntries(entries.slice(middle))]
}

/** The end of the last frame that differs. */
function endOfChange(before: Buffer, after: Buffer): number {
  if (after.length > before.length) return after.length
  let end = after.length
  while (end > 0 && before[end - 1] === after[end - 1]) end--
  return end === 0 ? 0 : logHeaderBytes + Math.ceil((end - logHeaderBytes) / frameBytes) * frameBytes
}

const sectorBytes = 512

/** A random mixture of the sectors of two files: a disk may write them in any order. */
function mixedSectors(old: Buffer, young: Buffer, random: Random): Buffer {
  const mixed = Buffer.from(young)
  const share = random.next()
  for (let at = 0; at < old.length; at += sectorBytes)
    if (random.chance(share)) old.copy(mixed, at, at, at + sectorBytes)
  return mixed
}
