import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../src/base/errors.ts'
import type { TestScope } from '../support/folder.ts'

/** A file system of a few megabytes, in memory: it can be filled to the last byte. */
export class SmallDisk {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  static mount(test: TestScope, size: string): SmallDisk {
    return new SmallDisk(mount(test, ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs']))
  }

  file(name: string): string {
    return join(this.path, name)
  }

  /** Takes all room that is left. */
  fill(): void {
    const descriptor = openSync(this.file('filler'), 'a')
    try {
      const page = Buffer.alloc(4096)
      while (writeSync(descriptor, page) === page.length);
    } catch {
      // It is full.
    } finally {
      closeSync(descriptor)
    }
  }

  makeRoom(): void {
    rmSync(this.file('filler'), { force: true })
  }

  remount(options: string): void {
    execFileSync('mount', ['-o', `remount,${options}`, this.path])
  }
}

/**
 * A file system on a disk that says it has more room than there is: what is written seems to be, until it has to be
 * brought to the disk. That fails like a disk that breaks.
 */
export class BreakingDisk {
  readonly path: string
  readonly #below: SmallDisk

  private constructor(path: string, below: SmallDisk) {
    this.path = path
    this.#below = below
  }

  static mount(test: TestScope, size: string, shown: string): BreakingDisk {
    const below = SmallDisk.mount(test, size)
    execFileSync('truncate', ['-s', shown, below.file('image')])
    execFileSync('mkfs.ext2', ['-q', '-F', below.file('image')], { stdio: 'pipe' })
    return new BreakingDisk(mount(test, ['-o', 'loop', below.file('image')]), below)
  }

  break(): void {
    this.#below.fill()
  }

  mend(): void {
    this.#below.makeRoom()
  }

  file(name: string): string {
    return join(this.path, name)
  }
}

/** Mounts something on a folder of its own, until the test is over. */
function mount(test: TestScope, what: readonly string[]): string {
  const path = mkdtempSync(join(tmpdir(), 'shoal-disk-'))
  try {
    execFileSync('mount', [...what, path], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(path)
    throw new Error(`a file system cannot be mounted here, which needs Linux and root: ${messageOf(error)}`)
  }
  test.after(() => {
    // Also when something still has a file open there.
    execFileSync('umount', ['-l', path])
    rmdirSync(path)
  })
  return path
}
