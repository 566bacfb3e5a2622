import { fstatSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { limits } from '../base/limits.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import type { Format } from './line-format.ts'

/** Where log text goes. */
export interface Sink {
  write(text: string): void
  /** Resolves when everything is written, or when `limits.logFlushMs` have passed. */
  flush(): Promise<void>
}

type Time = Pick<Runtime, 'clock' | 'timers'>

/**
 * Writes to a file descriptor: synchronously to a terminal or file, asynchronously to a pipe, because a supervisor that
 * has stopped reading must not block the node. Beyond the backlog limit lines are dropped; a later line counts them.
 */
export function descriptorSink(descriptor: number, format: Format, time: Time): Sink {
  const stat = fstatSync(descriptor)
  if (!stat.isFIFO() && !stat.isSocket()) return directSink(descriptor)
  return streamSink(new Socket({ fd: descriptor, readable: false, writable: true }), format, time)
}

function directSink(descriptor: number): Sink {
  return {
    write(text) {
      try {
        writeSync(descriptor, text)
      } catch {
        // A closed terminal or a full disk: there is nowhere left to report it.
      }
    },
    flush: () => Promise.resolve(),
  }
}

function streamSink(stream: Socket, format: Format, { clock, timers }: Time): Sink {
  let broken = false
  let dropped = 0
  stream.on('error', () => {
    broken = true
  })
  stream.unref()
  return {
    write(text) {
      if (broken) return
      if (stream.writableLength > limits.logBacklogBytes) {
        dropped++
        return
      }
      if (dropped > 0) {
        const message = `${dropped} log lines were dropped: the reader of the log was too slow`
        stream.write(format({ micros: clock.now(), level: 'WARN', target: 'log', message, fields: {} }))
        dropped = 0
      }
      stream.write(text)
    },
    async flush() {
      if (broken || stream.writableLength === 0) return
      await new Promise<void>((resolve) => {
        const timer = timers.setTimeout(resolve, limits.logFlushMs)
        stream.write('', () => {
          timers.clear(timer)
          resolve()
        })
      })
    },
  }
}
