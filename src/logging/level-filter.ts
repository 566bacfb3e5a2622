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
 * What a log filter lets through: one level (`INFO`), or a list like `swarm=debug,info` where a word of its own is the
 * level for everything else and `module=level` is for one module. A word that is no level names a module in full detail.
 */
export class LogFilter {
  readonly text: string
  /** What whoever set the filter should know of it: parts that mean nothing, and words that are perhaps misspelt levels. */
  readonly remarks: readonly string[]
  #limit: number
  #directives: Directive[] = []

  constructor(text: string) {
    this.text = text
    this.#limit = severity('INFO')
    const remarks: string[] = []
    let limit: number | undefined
    for (const part of text.split(',').filter((part) => part !== '')) {
      const [name = '', level, ...rest] = part.split('=')
      const parsed = limitOf(level ?? name)
      if (level === undefined) {
        if (parsed === undefined) {
          this.#directives.push({ module: name.toLowerCase(), limit: severity('TRACE') })
          remarks.push(`'${name}' in the log filter is no level: it is taken as the name of a module`)
        } else limit = parsed
      } else if (parsed === undefined || name === '' || rest.length > 0) {
        remarks.push(`'${part}' in the log filter means nothing`)
      } else {
        this.#directives.push({ module: name.toLowerCase(), limit: parsed })
      }
    }
    // Only modules named: the rest is silent, except that errors are always worth a line.
    if (limit !== undefined) this.#limit = limit
    else if (this.#directives.length > 0) this.#limit = severity('ERROR')
    // The longest name is the most specific one.
    this.#directives.sort((a, b) => b.module.length - a.module.length)
    this.remarks = remarks
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
