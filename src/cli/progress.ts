/** A line on a terminal that is written over and over; nothing where nobody looks. */
export interface ProgressLine {
  update(text: string): void
  end(): void
}

/** How often the line changes at most, in milliseconds. */
const everyMs = 100

export function progressLine(stream: NodeJS.WriteStream = process.stderr): ProgressLine {
  if (stream.isTTY !== true) return { update: () => {}, end: () => {} }
  let last = 0
  return {
    update(text) {
      const now = performance.now()
      if (now - last < everyMs) return
      last = now
      stream.write(`\r\x1b[K${text}`)
    },
    end() {
      stream.write('\r\x1b[K')
    },
  }
}
