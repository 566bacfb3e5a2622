import { readFileSync, writeFileSync } from 'node:fs'

const sampleMs = 50

/** The memory of a process in megabytes, as the kernel counts it; undefined when there is no such process. */
export function memoryOf(pid: number): { resident: number; highest: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    const megabytes = (name: string): number =>
      (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) * 1024) / 1e6
    const resident = megabytes('VmRSS')
    return Number.isNaN(resident) ? undefined : { resident, highest: megabytes('VmHWM') }
  } catch {
    return undefined
  }
}

/** Milliseconds per tick in which the kernel counts CPU time. */
const tickMs = 10

/** The CPU time of all threads of a process so far, in milliseconds. */
export function cpuMsOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the process is in parentheses, and may hold spaces; user and system time are the 12th and 13th behind it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tickMs
  } catch {
    return 0
  }
}

interface WatchOptions {
  readonly pid: number
  /** Called once when the memory is beyond so many megabytes. */
  readonly far: { readonly megabytes: number; readonly reached: () => void }
  /** The same, at the point where the machine has to be protected. */
  readonly fatal: { readonly megabytes: number; readonly reached: () => void }
}

/** Samples the memory of a process. */
export class MemoryWatch {
  readonly #options: WatchOptions
  readonly #timer: NodeJS.Timeout
  readonly before: number
  /** Whether what the kernel notes as the highest value belongs to this watch. */
  readonly #isHighestOurs: boolean
  #peak = 0
  #passed = 0

  constructor(options: WatchOptions) {
    this.#options = options
    this.#isHighestOurs = resetHighest(options.pid)
    this.before = memoryOf(options.pid)?.resident ?? 0
    this.#timer = setInterval(() => this.#sample(), sampleMs)
  }

  /** The peak so far, by the samples and by what the kernel has noted. */
  get peak(): number {
    this.#sample()
    return this.#peak
  }

  end(): void {
    clearInterval(this.#timer)
  }

  #sample(): void {
    const memory = memoryOf(this.#options.pid)
    if (memory === undefined) return
    this.#peak = Math.max(this.#peak, memory.resident, this.#isHighestOurs ? memory.highest : 0)
    const { far, fatal } = this.#options
    for (const [passed, { megabytes, reached }] of [far, fatal].entries()) {
      if (memory.resident < megabytes || this.#passed > passed) continue
      this.#passed = passed + 1
      reached()
    }
  }
}

/** Lets the kernel forget the highest value so far: the next one belongs to this attack. Answers whether it did. */
function resetHighest(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return true
  } catch {
    return false
  }
}
