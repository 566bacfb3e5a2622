import { type CompletedCommand, valueOptions, wordsOf } from './tree.ts'

export function elvishScript(commands: readonly CompletedCommand[]): string {
  const entry = (at: string, words: readonly string[]): string => `  &${quoted(at)}=[${words.map(quoted).join(' ')}]`
  const words = commands.map((one) =>
    entry(
      one.path,
      wordsOf(one).map(({ text }) => text),
    ),
  )
  const values = valueOptions(commands).map(({ at, values: allowed }) => entry(at, allowed))
  return `# Completion of shoal for elvish: eval (shoal complete elvish | slurp)
var shoal-words = [
${words.join('\n')}
]
var shoal-values = [
${values.join('\n')}
]
set edit:completion:arg-completer[shoal] = {|@typed|
  var at = shoal
  var last = ''
  for word $typed[1..-1] {
    set last = $word
    if (has-key $shoal-words $at' '$word) { set at = $at' '$word }
  }
  if (has-key $shoal-values $at' '$last) {
    all $shoal-values[$at' '$last]
  } else {
    all $shoal-words[$at]
  }
}`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
