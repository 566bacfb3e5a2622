/** Log levels, the most severe first. */
export const levels = ['ERROR', 'WARN', 'INFO', 'DEBUG', 'TRACE'] as const
export type Level = (typeof levels)[number]

const severity = (level: Level): number => levels.indexOf(level)
const silent = -1

interface Directive {
  module: string
  limit: number
}

/**
 * A log filter: one level (`INFO`), or a list of directives like `swarm=debug,info`. `module=level` sets the level of
 * one module, a bare level is the default for all others. A bare word that is not a level is a module: it logs TRACE.
 */
export class LogFilter {
  readonly text: string
  /** Warnings about the filter: invalid directives, and module names that may be misspelt levels. */
  readonly warnings: readonly string[]
  #limit: number
  #directives: Directive[] = []

  constructor(text: string) {
    this.text = text
    this.#limit = severity('INFO')
    const warnings: string[] = []
    let limit: number | undefined
    for (const part of text.split(',').filter((part) => part !== '')) {
      const [name = '', level, ...rest] = part.split('=')
      const parsed = limitOf(level ?? name)
      if (level === undefined) {
        if (parsed === undefined) {
          this.#directives.push({ module: name.toLowerCase(), limit: severity('TRACE') })
          warnings.push(`'${name}' in the log filter is not a level: it is taken as the name of a module`)
        } else limit = parsed
      } else if (parsed === undefined || name === '' || rest.length > 0) {
        warnings.push(`'${part}' in the log filter is ignored: it is neither a level nor module=level`)
      } else {
        this.#directives.push({ module: name.toLowerCase(), limit: parsed })
      }
    }
    // Without a default level other modules only log errors.
    if (limit !== undefined) this.#limit = limit
    else if (this.#directives.length > 0) this.#limit = severity('ERROR')
    // The longest module name is the most specific and matches first.
    this.#directives.sort((a, b) => b.module.length - a.module.length)
    this.warnings = warnings
  }

  allows(level: Level, module: string, target: string): boolean {
    for (const directive of this.#directives)
      if (covers(directive.module, module) || covers(directive.module, target.toLowerCase()))
        return severity(level) <= directive.limit
    return severity(level) <= this.#limit
  }
}

function limitOf(word: string): number | undefined {
  if (word.toLowerCase() === 'off') return silent
  const index = (levels as readonly string[]).indexOf(word.toUpperCase())
  return index < 0 ? undefined : index
}

function covers(directive: string, name: string): boolean {
  return name === directive || name.startsWith(`${directive}::`)
}
