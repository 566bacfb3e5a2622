import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const root = '/sys/fs/cgroup'

/** A memory cgroup below that of this process, or beside it where a child group is not possible. */
export class MemoryCgroup {
  readonly #folder: string

  private constructor(folder: string) {
    this.#folder = folder
  }

  /** Creates a group with a limit; undefined without permission or without a memory controller. */
  static make(mebibytes: number): MemoryCgroup | undefined {
    const own = readFileSync('/proc/self/cgroup', 'utf8')
    for (const { parent, file } of places(own)) {
      const folder = join(parent, `shoal-attack-${process.pid}`)
      try {
        mkdirSync(folder)
      } catch {
        continue
      }
      try {
        writeFileSync(join(folder, file), String(mebibytes * 1024 * 1024))
        return new MemoryCgroup(folder)
      } catch {
        rmdirSync(folder)
      }
    }
    return undefined
  }

  /** A shell command that moves the shell into the group. */
  get entering(): string {
    return `echo $$ > '${join(this.#folder, 'cgroup.procs')}'`
  }

  /** Removes the group. The kernel refuses for a moment after the last process in it has ended. */
  async remove(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        rmdirSync(this.#folder)
        return
      } catch (error) {
        if (tries === 50) throw error
        await delay(100)
      }
    }
  }
}

interface Place {
  readonly parent: string
  /** The file with the limit. */
  readonly file: string
}

/** Possible parents of the group, given `/proc/self/cgroup`: of cgroup v1, then of v2. */
export function places(own: string): Place[] {
  const lines = own.split('\n').map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
  const found: Place[] = []
  for (const [, controllers = '', path = ''] of lines.filter((line) => line !== null)) {
    if (controllers.split(',').includes('memory'))
      found.push({ parent: join(root, 'memory', path), file: 'memory.limit_in_bytes' })
    // In cgroup v2 a group with processes cannot have child groups with limits; its parent can.
    if (controllers === '' && existsSync(join(root, 'cgroup.controllers')))
      for (const parent of [join(root, path), join(root, path, '..')]) found.push({ parent, file: 'memory.max' })
  }
  return found
}
