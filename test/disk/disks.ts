import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../src/base/errors.ts'
import type { TestScope } from '../support/folder.ts'

/** A small file system in memory, which can be filled to the last byte. */
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

  /** Uses up the free space, all of it or down to a number of bytes. */
  fill({ leaving = 0 } = {}): void {
    const descriptor = openSync(this.file('filler'), 'a')
    try {
      const page = Buffer.alloc(4096)
      const { bavail, bsize } = statfsSync(this.path)
      const pages = leaving === 0 ? Number.POSITIVE_INFINITY : Math.floor((bavail * bsize - leaving) / page.length)
      for (let i = 0; i < pages && writeSync(descriptor, page) === page.length; i++);
    } catch {
      // ENOSPC: the disk is full.
    } finally {
      closeSync(descriptor)
    }
  }

  makeSpace(): void {
    rmSync(this.file('filler'), { force: true })
  }

  remount(options: string): void {
    execFileSync('mount', ['-o', `remount,${options}`, this.path])
  }
}

/**
 * A file system on an image that claims more space than the disk below has: writes succeed, and fail with an I/O error
 * when they are flushed.
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

  repair(): void {
    this.#below.makeSpace()
  }

  file(name: string): string {
    return join(this.path, name)
  }
}

/** Mounts a file system on a temporary folder for the duration of the test. */
function mount(test: TestScope, what: readonly string[]): string {
  const path = mkdtempSync(join(tmpdir(), 'shoal-disk-'))
  try {
    execFileSync('mount', [...what, path], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(path)
    throw new Error(`a file system cannot be mounted here, which needs Linux and root: ${messageOf(error)}`)
  }
  test.after(() => {
    // Lazy, because a file may still be open.
    execFileSync('umount', ['-l', path])
    rmdirSync(path)
  })
  return path
}
