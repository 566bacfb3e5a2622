/**
 * How suggested commands name the node: by its data folder on this machine, or by the address of its admin port.
 * `argument` is the end of such a command.
 */
export type Target =
  | { readonly is: 'folder'; readonly folder: string; readonly argument: string }
  | { readonly is: 'address'; readonly host: string; readonly argument: string }

const elsewhere = 'on the machine of the node'

/**
 * Commands that restart a running node with other options: shutdown first, since the node has the lock of its data
 * folder. They have to be typed on the machine of the node.
 */
export function restart(target: Target, options = '', note = ''): string[] {
  const folder = target.is === 'folder' ? target.argument : '--working-dir DATA_FOLDER'
  const where = target.is === 'folder' ? '' : elsewhere
  const run = `shoal run ${options === '' ? '' : `${options} `}${folder}`
  return [commented(`shoal nodes shutdown ${folder}`, where), commented(run, where, note)]
}

/** A command that takes the data folder, and has to be typed on the machine of the node. */
export function onItsMachine(command: string): string {
  return commented(`${command} DATA_FOLDER`, elsewhere)
}

function commented(command: string, ...comments: readonly string[]): string {
  const said = comments.filter((comment) => comment !== '')
  return said.length === 0 ? command : `${command}   # ${said.join(', ')}`
}
