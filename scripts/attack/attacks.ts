import type { Attack } from './attack.ts'
import { chunkedBody } from './chunked-body.ts'
import { hostileQueries } from './hostile-queries.ts'
import { idleConnections } from './idle-connections.ts'
import { idleSubscriptions } from './idle-subscriptions.ts'
import { largeBurst } from './large-burst.ts'
import { largeMaps } from './large-maps.ts'
import { pingFlood } from './ping-flood.ts'
import { pipelining } from './pipelining.ts'
import { slowHeads } from './slow-heads.ts'
import { unfinishedMessages } from './unfinished-messages.ts'
import { unreadDownloads } from './unread-downloads.ts'
import { unreadQueries } from './unread-queries.ts'

/** All attacks, in the order in which they run. */
export const attacks: readonly Attack[] = [
  chunkedBody,
  pingFlood,
  unfinishedMessages,
  unreadQueries,
  unreadDownloads,
  pipelining,
  largeBurst,
  slowHeads,
  hostileQueries,
  largeMaps,
  idleSubscriptions,
  idleConnections,
]
