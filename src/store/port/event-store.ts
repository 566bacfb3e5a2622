import type { EventLog } from './event-log.ts'
import type { OwnHistory } from './own-history.ts'
import type { Readings } from './reading.ts'
import type { RememberedClock } from './remembered-clock.ts'
import type { RetentionQueries } from './retention-queries.ts'

/** The event store of a topic: the whole port. */
export interface EventStore extends EventLog, Readings, RetentionQueries, OwnHistory, RememberedClock {
  close(): Promise<void>
}
