import type { EventLog } from './event-log.ts'
import type { Maintenance } from './maintenance.ts'
import type { Readings } from './reading.ts'

/** The event store of a topic: the whole port. */
export interface EventStore extends EventLog, Readings, Maintenance {
  close(): Promise<void>
}
