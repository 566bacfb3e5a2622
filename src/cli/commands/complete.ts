import type { Command } from 'commander'
import { bashScript } from '../completion/bash.ts'
import { elvishScript } from '../completion/elvish.ts'
import { fishScript } from '../completion/fish.ts'
import { powershellScript } from '../completion/powershell.ts'
import { completedCommands } from '../completion/tree.ts'
import { zshScript } from '../completion/zsh.ts'
import type { Result } from '../output/output.ts'

const scripts = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  elvish: elvishScript,
  powershell: powershellScript,
} as const

export type Shell = keyof typeof scripts

/** The completion script of a shell, from the commands and options of the program. */
export async function printCompletion(shell: Shell, root: Command): Promise<Result> {
  const script = scripts[shell](completedCommands(root))
  return { text: () => script, json: { shell, script } }
}
