import type { Clock } from '../../runtime/clock.ts'

/** A progress line on a TTY that is overwritten with each update; does nothing without a TTY. */
export interface ProgressLine {
  update(text: string): void
  end(): void
}

/** Minimum interval between two updates, in milliseconds. */
const everyMs = 100

/** Width of a progress bar in characters. */
const barWidth = 30

/** A progress bar with the percentage. */
export function progressBar(done: number, all: number, unit = 'bytes'): string {
  const share = all === 0 ? 1 : Math.min(1, done / all)
  const filled = Math.round(share * barWidth)
  return `[${'#'.repeat(filled)}${'-'.repeat(barWidth - filled)}] ${Math.floor(share * 100)} % of ${all} ${unit}`
}

export function progressLine(clock: Clock, stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  if (stream.isTTY !== true) return { update: () => {}, end: () => {} }
  let last = 0
  return {
    update(text) {
      const now = clock.steadyMs()
      if (now - last < everyMs) return
      last = now
      stream.write(`\r\x1b[K${text}`)
    },
    end() {
      stream.write('\r\x1b[K')
    },
  }
}

/** Shows the progress of work, until it ends. */
export async function withProgress<T>(clock: Clock, work: (show: (text: string) => void) => Promise<T>): Promise<T> {
  const line = progressLine(clock)
  try {
    return await work((text) => line.update(text))
  } finally {
    line.end()
  }
}
