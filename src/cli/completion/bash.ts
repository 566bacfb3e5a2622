import { type CompletedCommand, valueOptions, wordsOf } from './tree.ts'

export function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.slice(1).map(({ path }) => `'${path}'`)
  const words = commands.map((one) => `    '${one.path}') words='${texts(wordsOf(one))}' ;;`)
  const values = valueOptions(commands).map(({ at, values: allowed }) => `    '${at}') words='${allowed.join(' ')}' ;;`)
  return `# Completion of shoal for bash: source <(shoal complete bash)
_shoal() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" at=shoal words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${paths.join(' | ')}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${words.join('\n')}
  esac
  # The value of an option: its choices, or files.
  case "$at \${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
# Without a word that fits, files are completed.
complete -o default -F _shoal shoal`
}

function texts(words: readonly { readonly text: string }[]): string {
  return words.map(({ text }) => text).join(' ')
}
