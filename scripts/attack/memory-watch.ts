import { readFileSync, writeFileSync } from 'node:fs'

const sampleMs = 50

/** Resident memory of a process in megabytes; undefined if there is no such process. */
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

/** Milliseconds per clock tick of the kernel. */
const tickMs = 10

/** The CPU time of all threads of a process so far, in milliseconds. */
export function cpuMsOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name is in parentheses and may contain spaces. User and system time are fields 12 and 13 after it.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * tickMs
  } catch {
    return 0
  }
}

interface WatchOptions {
  readonly pid: number
  /** Called once when the memory exceeds a number of megabytes. */
  readonly far: { readonly megabytes: number; readonly reached: () => void }
  /** The same, at the point where the machine has to be protected from running out of memory. */
  readonly fatal: { readonly megabytes: number; readonly reached: () => void }
}

/** Samples the memory of a process. */
export class MemoryWatch {
  readonly #options: WatchOptions
  readonly #timer: NodeJS.Timeout
  readonly before: number
  /** Whether the peak value of the kernel (VmHWM) was reset for this watch. */
  readonly #isHighestOurs: boolean
  #peak = 0
  #passed = 0

  constructor(options: WatchOptions) {
    this.#options = options
    this.#isHighestOurs = resetHighest(options.pid)
    this.before = memoryOf(options.pid)?.resident ?? 0
    this.#timer = setInterval(() => this.#sample(), sampleMs)
  }

  /** The peak so far, from the samples and from the kernel. */
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

/** Resets the peak value of the kernel, so that it belongs to this attack. Returns whether that worked. */
function resetHighest(pid: number): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return true
  } catch {
    return false
  }
}
