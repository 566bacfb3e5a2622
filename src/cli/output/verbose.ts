import { escapeControls } from '../../base/control-characters.ts'
import { type Level, LogFilter } from '../../logging/index.ts'
import { fromEnvironment } from '../environment.ts'

/** Levels by the number of `-v`. */
const levels = ['INFO', 'DEBUG', 'TRACE'] as const

let filter: LogFilter | undefined

/** Sets the log level of a command on stderr. A filter in the environment overrides the options. */
export function setVerbosity(count: number): void {
  filter = new LogFilter(fromEnvironment('logFilter') ?? levelOf(count) ?? 'WARN')
}

/** The level for a number of `-v`; undefined without any. */
export function levelOf(count = 0): string | undefined {
  return count === 0 ? undefined : levels[Math.min(count, levels.length) - 1]
}

/** Writes a line to stderr, if its level is enabled. */
export function verbose(level: Exclude<Level, 'ERROR'>, text: string): void {
  if (filter?.allows(level, 'cli', '') === true) process.stderr.write(`${level.padStart(5)} ${escapeControls(text)}\n`)
}
