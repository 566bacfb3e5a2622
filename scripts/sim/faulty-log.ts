import { ShoalError } from '../../src/base/errors.ts'
import type { ReplicatedLog } from '../../src/swarm/index.ts'

/** What goes wrong with the disk of a node. */
export interface DiskFaults {
  /** The longest time that reading and writing for peers takes, in milliseconds. */
  delayMs: number
  /** The share of these that fail. */
  failures: number
}

export interface FaultyLogOptions {
  readonly faults: DiskFaults
  readonly random: () => number
  readonly after: (ms: number, work: () => void) => void
  /** Whether the process that uses the log still runs. */
  readonly isAlive: () => boolean
}

/** A failure of the disk, which is neither a defect nor the fault of a peer. */
export class SimulatedFailure extends ShoalError {
  constructor() {
    super('ERR_IO', 'The disk fails.')
  }
}

const reads = ['chunks', 'records', 'evidence', 'hashAt', 'checkpoints'] as const
const writes = ['receive', 'applyPrune', 'applyRedactions', 'applyEvidence'] as const
const slow: ReadonlySet<unknown> = new Set([...reads, ...writes])

/** A log that takes time, and fails, for what peers send and ask for. */
export function faultyLog(log: ReplicatedLog, { faults, random, after, isAlive }: FaultyLogOptions): ReplicatedLog {
  const wait = async (): Promise<void> => {
    const { delayMs, failures } = faults
    if (delayMs === 0) return
    // What waits for a process that has ended never goes on.
    await new Promise<void>((resolve) => after(random() * delayMs, () => isAlive() && resolve()))
    if (random() < failures) throw new SimulatedFailure()
  }
  return new Proxy(log, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || !slow.has(name)) return value
      return async (...args: readonly unknown[]) => {
        await wait()
        return value.apply(target, args)
      }
    },
  })
}
