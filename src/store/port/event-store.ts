import type { EventLog } from './event-log.ts'
import type { Maintenance } from './maintenance.ts'
import type { Readings } from './reading.ts'

/** The events of a topic: everything that those above the store need of it. */
export interface EventStore extends EventLog, Readings, Maintenance {
  close(): Promise<void>
}
