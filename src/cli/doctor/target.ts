/** How commands name the node again: by its data folder on this machine, or by the address of its admin port. */
export type Target =
  | { readonly is: 'folder'; readonly folder: string /** The end of a command. */; readonly argument: string }
  | { readonly is: 'address'; readonly host: string; readonly argument: string }

const elsewhere = 'on the machine of the node'

/**
 * Commands that start a running node again, with other options. It has the lock of its data folder, so that it is
 * stopped first. A node can only be started on its machine.
 */
export function restart(target: Target, options = '', note = ''): string[] {
  const folder = target.is === 'folder' ? target.argument : '--working-dir DATA_FOLDER'
  const where = target.is === 'folder' ? '' : elsewhere
  const run = `shoal run ${options === '' ? '' : `${options} `}${folder}`
  return [commented(`shoal nodes shutdown ${folder}`, where), commented(run, where, note)]
}

/** A command with the data folder of the node at its end, which is typed on the machine of the node. */
export function onItsMachine(command: string): string {
  return commented(`${command} DATA_FOLDER`, elsewhere)
}

function commented(command: string, ...comments: readonly string[]): string {
  const said = comments.filter((comment) => comment !== '')
  return said.length === 0 ? command : `${command}   # ${said.join(', ')}`
}
