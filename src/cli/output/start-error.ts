import { ShoalError } from '../../base/errors.ts'
import { DataFolder } from '../../store/index.ts'
import { nextCommand } from './next-command.ts'
import { withCauses } from './output.ts'
import { quoted } from './quoted.ts'

/** The data folder of a node that has failed to start. */
interface StartedFolder {
  readonly path: string
  /** As it was typed with --working-dir. */
  readonly typed: string | undefined
}

/** The text for a failed start: why, and what to type next. */
export function startErrorText(error: Error, folder: StartedFolder): string {
  const code = error instanceof ShoalError ? error.code : 'ERR_INTERNAL_ERROR'
  // The specification has the error code in the log text of a port collision only.
  const shown = code === 'ERR_PORT_COLLISION' ? `${code}: ` : ''
  const text = withCauses(error)
  const next = nextAfter(code, text, folder)
  return `Error: ${shown}${text}${next === undefined ? '' : `\nNext: ${next}`}`
}

function nextAfter(code: string, text: string, { path, typed }: StartedFolder): string | undefined {
  const target = typed === undefined ? '' : `--working-dir ${quoted(typed)}`
  const next = nextCommand(code, text, { command: 'shoal run', target })
  const [option] = code === 'ERR_PORT_COLLISION' ? (/--bind-\w+/.exec(text) ?? []) : []
  if (option !== undefined)
    return `${['shoal run', target, option, '0'].filter(Boolean).join(' ')}   # 0 is any free port`
  // Without a data folder `shoal doctor` has nothing to look at.
  return next === undefined || DataFolder.exists(path) ? next : 'shoal run --help'
}
