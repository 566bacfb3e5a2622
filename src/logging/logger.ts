import type { Clock } from '../runtime/clock.ts'
import type { Level } from './level-filter.ts'
import { LogFilter } from './level-filter.ts'
import type { Fields, Format } from './line-format.ts'
import type { Sink } from './sink.ts'

/** The output that all loggers share. Its filter can be replaced at runtime. */
export interface LogOutput {
  filter: LogFilter
  readonly format: Format
  readonly sink: Sink
  readonly clock: Clock
  /** Number of lines written, by level. */
  readonly written: Map<Level, number>
}

export function logOutput(format: Format, sink: Sink, clock: Clock, filter = 'INFO'): LogOutput {
  return { filter: new LogFilter(filter), format, sink, clock, written: new Map() }
}

/** Writes the log lines of one module. */
export class Logger {
  readonly #output: LogOutput
  readonly #module: string
  readonly #target: string

  constructor(output: LogOutput, module: string, target: string = module) {
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

  #write(level: Level, message: string, fields: Fields = {}): void {
    const { filter, format, sink, clock, written } = this.#output
    if (!filter.allows(level, this.#module, this.#target)) return
    written.set(level, (written.get(level) ?? 0) + 1)
    sink.write(format({ micros: clock.now(), level, target: this.#target, message, fields }))
  }
}
