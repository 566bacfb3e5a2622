import type { Command } from 'commander'
import { type Finish, group } from './command.ts'
import { monotonicCommand, subscribeCommand } from './events-commands.ts'
import { shutdownCommand } from './nodes-commands.ts'

/** Commands that the reference system has under another name, for existing scripts. */
export function internalCommand(finish: Finish): Command {
  const internal = group('internal', 'other names of commands, as in the reference system')
  internal.addCommand(shutdownCommand(finish))
  const events = group('events', 'as `shoal events`')
  events.addCommand(subscribeCommand(finish)).addCommand(monotonicCommand(finish))
  internal.addCommand(events)
  return internal
}

/** Whether the help lists these commands, as in the reference system. */
export function showsInternal(): boolean {
  return ['zoeg', 'zøg'].includes(process.env['HERE_BE_DRAGONS'] ?? '')
}
