import type { CompletedCommand, CompletedOption } from './tree.ts'

export function fishScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => quoted(path))
  const lines = commands.flatMap(({ path, subcommands, options }) => {
    const here = `complete -c shoal -n ${quoted(`__shoal_at ${path}`)}`
    return [
      ...subcommands.map(({ text, description }) => `${here} -f -a ${text} -d ${quoted(description)}`),
      ...options.map((option) => `${here}${flags(option)}${value(option)} -d ${quoted(option.description)}`),
    ]
  })
  return `# Completion of shoal for fish: shoal complete fish | source
function __shoal_at
  set -l at shoal
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${paths.join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv"
end
${lines.join('\n')}`
}

function flags({ flags: all }: CompletedOption): string {
  return all.map((flag) => (flag.startsWith('--') ? ` -l ${flag.slice(2)}` : ` -s ${flag.slice(1)}`)).join('')
}

function value({ takesValue, values }: CompletedOption): string {
  if (!takesValue) return ''
  return values.length === 0 ? ' -r' : ` -x -a ${quoted(values.join(' '))}`
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
