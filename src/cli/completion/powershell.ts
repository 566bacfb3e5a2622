import { type CompletedCommand, valueOptions, type Word, wordsOf } from './tree.ts'

export function powershellScript(commands: readonly CompletedCommand[]): string {
  const words = commands.map((one) => `    ${quoted(one.path)} = @(${wordsOf(one).map(entry).join(', ')})`)
  const values = valueOptions(commands).map(({ at, values: allowed }) => {
    const entries = allowed.map((text) => entry({ text, description: text }))
    return `    ${quoted(at)} = @(${entries.join(', ')})`
  })
  return `# Completion of shoal for PowerShell: shoal complete powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName shoal -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @{
${words.join('\n')}
  }
  $values = @{
${values.join('\n')}
  }
  $at = 'shoal'
  $last = ''
  foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
    if ($element.Extent.EndOffset -ge $cursorPosition) { break }
    $last = $element.ToString()
    if ($words.ContainsKey("$at $last")) { $at = "$at $last" }
  }
  $found = if ($values.ContainsKey("$at $last")) { $values["$at $last"] } else { $words[$at] }
  $found | Where-Object { $_[0] -like "$wordToComplete*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_[0], $_[0], 'ParameterValue', $_[1])
  }
}`
}

/** A pair; the comma keeps it from being flattened. */
function entry({ text, description }: Word): string {
  return `,@(${quoted(text)}, ${quoted(description)})`
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
