import { type Connections, HttpService, ParseQueue } from '../api/index.ts'
import type { Logger } from '../logging/index.ts'
import type { Runtime } from '../runtime/system-runtime.ts'
import { anyTarget } from './backup-target.ts'
import { operator } from './operator.ts'
import { Relay } from './relay.ts'
import { type AdminParts, adminRoutes } from './routes/index.ts'

interface Parts extends Runtime, Omit<AdminParts, 'origin' | 'backupTarget' | 'relay'> {
  readonly connections: Connections
  readonly log: Logger
}

/** The admin routes without sessions, for the control socket: file permissions decide who can connect to it. */
export function controlService(parts: Parts): HttpService {
  const { connections, log, clock, timers } = parts
  return new HttpService({
    routes: adminRoutes({
      ...parts,
      origin: () => 'control socket',
      backupTarget: anyTarget,
      relay: new Relay(timers),
    }),
    authenticate: () => operator,
    parseQueue: new ParseQueue(timers),
    connections,
    log,
    clock,
    timers,
  })
}
