import { escapeControls } from '../base/control-characters.ts'
import { rfc3339 } from '../base/timestamps.ts'
import type { Level } from './level-filter.ts'

export type Fields = Record<string, unknown>

export interface LogRecord {
  micros: number
  level: Level
  target: string
  message: string
  fields: Fields
}

export type Format = (record: LogRecord) => string

export function jsonLine({ micros, level, target, message, fields }: LogRecord): string {
  return `${JSON.stringify({ ...fields, timestamp: rfc3339(micros), level, message, target }, plainErrors)}\n`
}

const colours: Record<Level, number> = { ERROR: 31, WARN: 33, INFO: 32, DEBUG: 34, TRACE: 35 }

/** `<time>  LEVEL target: message key=value`. Only the level is coloured, so that the rest stays easy to parse. */
export function textLine(coloured: boolean): Format {
  return ({ micros, level, target, message, fields }) => {
    const word = level.padStart(5)
    const shown = coloured ? `\x1b[${colours[level]}m${word}\x1b[0m` : word
    const rest = Object.entries(fields).map(([key, value]) => ` ${key}=${fieldText(value)}`)
    return `${rfc3339(micros)} ${shown} ${target}: ${indented(message + rest.join(''))}\n`
  }
}

function fieldText(value: unknown): string {
  const plain = plainErrors('', value)
  return typeof plain === 'string' && /^[\w.:/@+-]+$/.test(plain) ? plain : (JSON.stringify(plain) ?? 'undefined')
}

/** Protects against log injection: input can neither forge a log line nor send terminal sequences. */
function indented(text: string): string {
  return escapeControls(text.replace(/\r?\n/g, '\n    '))
}

function plainErrors(_key: string, value: unknown): unknown {
  if (value instanceof Error) return value.message
  return typeof value === 'bigint' ? value.toString() : value
}
