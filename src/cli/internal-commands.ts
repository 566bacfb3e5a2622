import type { Command } from 'commander'
import { type Finish, group } from './command.ts'
import { subscribeCommand } from './events-commands.ts'
import { shutdownCommand } from './nodes-commands.ts'

/** Commands that the reference system has under another name, for existing scripts. */
export function internalCommand(finish: Finish): Command {
  const internal = group('internal', 'other names of commands, as in the reference system')
  internal.addCommand(shutdownCommand(finish))
  internal.addCommand(group('events', 'as `shoal events`').addCommand(subscribeCommand(finish)))
  return internal
}
