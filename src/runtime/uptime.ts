import type { Clock } from './clock.ts'

export interface Uptime {
  readonly secs: number
  readonly nanos: number
}

const second = 1_000_000_000

/** Measures the time from now on, in the form that the specification has for it. */
export function uptimeFrom(clock: Clock): () => Uptime {
  const started = clock.steadyMs()
  return () => {
    const uptime = Math.floor((clock.steadyMs() - started) * 1e6)
    return { secs: Math.floor(uptime / second), nanos: uptime % second }
  }
}
