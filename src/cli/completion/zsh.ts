import { type CompletedCommand, valueOptions, type Word, wordsOf } from './tree.ts'

export function zshScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => `'${path}'`)
  const words = commands.map((one) => `    '${one.path}') found=(${wordsOf(one).map(described).join(' ')}) ;;`)
  const values = valueOptions(commands).map(({ at, values: allowed }) =>
    allowed.length === 0 ? `    '${at}') _files; return ;;` : `    '${at}') found=(${allowed.join(' ')}) ;;`,
  )
  return `#compdef shoal
# Completion of shoal for zsh: source <(shoal complete zsh), after compinit
_shoal() {
  local at=shoal word
  local -a found
  for word in \${words[2,CURRENT-1]}; do
    case "$at $word" in
    ${paths.join(' | ')}) at="$at $word" ;;
    esac
  done
  case "$at" in
${words.join('\n')}
  esac
  case "$at \${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  _describe shoal found || _files
}
compdef _shoal shoal`
}

/** `name:description`, in which a colon of the description is part of it. */
function described({ text, description }: Word): string {
  return `'${text}:${description.replaceAll("'", '’')}'`
}
