import { statfsSync } from 'node:fs'
import { limits } from '../../base/limits.ts'

/** The space of a disk in bytes. */
export interface DiskSpace {
  readonly free: number
  readonly total: number
}

/** The space of the disk with a file or folder. */
export function diskSpace(path: string): DiskSpace {
  const { bavail, blocks, bsize } = statfsSync(path)
  return { free: bavail * bsize, total: blocks * bsize }
}

/**
 * Free disk space that is not filled with blocks of other nodes, so that events and uploads of this node still have
 * room. Once it was reached, there is room again when a quarter more than it is free.
 */
export class DiskReserve {
  readonly #space: () => DiskSpace
  #isReached = false

  constructor(space: () => DiskSpace) {
    this.#space = space
  }

  /** Undefined when there is room for blocks, or why there is none. */
  check(): string | undefined {
    const { free, total } = this.#space()
    const reserve = Math.min(limits.diskReserveBytes, total / 20)
    this.#isReached = free < (this.#isReached ? reserve * 1.25 : reserve)
    return this.#isReached ? `${mebibytes(free)} of disk space are free, ${mebibytes(reserve)} are reserved` : undefined
  }
}

function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / 1024 / 1024)} MiB`
}
