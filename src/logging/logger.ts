import type { Clock } from '../runtime/clock.ts'
import type { Level } from './level-filter.ts'
import { LogFilter } from './level-filter.ts'
import type { Fields, Format, LogRecord } from './line-format.ts'
import { RecentLines } from './recent-lines.ts'
import type { Sink } from './sink.ts'

/** Where loggers write to. The filter can be replaced at runtime. */
export interface LogLines {
  filter: LogFilter
  readonly clock: Clock
  /** Writes a line that the filter has let through. */
  readonly write: (record: LogRecord) => void
}

/** The output that all loggers of the process share. */
export interface LogOutput extends LogLines {
  readonly format: Format
  readonly sink: Sink
  /** Number of lines written, by level. */
  readonly written: Map<Level, number>
  readonly recent: RecentLines
}

export function logOutput(format: Format, sink: Sink, clock: Clock, filter = 'INFO'): LogOutput {
  const written = new Map<Level, number>()
  const recent = new RecentLines()
  const write = (record: LogRecord): void => {
    written.set(record.level, (written.get(record.level) ?? 0) + 1)
    sink.write(format(record))
    recent.add(record)
  }
  return { filter: new LogFilter(filter), format, sink, clock, written, recent, write }
}

/** Writes the log lines of one module. */
export class Logger {
  readonly #output: LogLines
  readonly #module: string
  readonly #target: string

  constructor(output: LogLines, module: string, target: string = module) {
    this.#output = output
    this.#module = module
    this.#target = target
  }

  module(name: string): Logger {
    return new Logger(this.#output, name)
  }

  /** A logger of the same module with another target, for events that supervisors look for, like `API_BOUND`. */
  as(target: string): Logger {
    return new Logger(this.#output, this.#module, target)
  }

  /** Whether DEBUG is enabled, to skip building expensive messages. */
  get isDebug(): boolean {
    return this.#output.filter.allows('DEBUG', this.#module, this.#target)
  }

  error(message: string, fields?: Fields): void {
    this.#write('ERROR', message, fields)
  }

  warn(message: string, fields?: Fields): void {
    this.#write('WARN', message, fields)
  }

  info(message: string, fields?: Fields): void {
    this.#write('INFO', message, fields)
  }

  debug(message: string, fields?: Fields): void {
    this.#write('DEBUG', message, fields)
  }

  /** Writes a line of another thread, which its own filter has let through. */
  relay(record: LogRecord): void {
    this.#output.write(record)
  }

  #write(level: Level, message: string, fields: Fields = {}): void {
    const { filter, clock, write } = this.#output
    if (!filter.allows(level, this.#module, this.#target)) return
    write({ micros: clock.now(), level, target: this.#target, message, fields })
  }
}
