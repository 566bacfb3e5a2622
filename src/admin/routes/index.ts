import type { EventParts, Route } from '../../api/index.ts'
import { adminEventRoutes } from './events.ts'
import { adminFileRoutes, type FileParts } from './files.ts'
import { type NodeParts, nodeRoutes } from './node.ts'
import { type ObservingParts, observingRoutes } from './observing.ts'
import { type OtherNodeParts, otherNodeRoutes } from './other-nodes.ts'
import { redactionRoutes } from './redaction.ts'
import { type SettingsParts, settingsRoutes } from './settings.ts'
import { type StoreParts, storeRoutes } from './store.ts'
import { type TopicParts, topicRoutes } from './topics.ts'
import { userRoutes } from './users.ts'

export type { Inspected, InspectedPeer } from './inspected.ts'
export { sessionRoutes, tokenOf } from './session.ts'

/** The dependencies of the admin routes. */
export interface AdminParts
  extends NodeParts,
    SettingsParts,
    StoreParts,
    EventParts,
    FileParts,
    ObservingParts,
    TopicParts,
    OtherNodeParts {}

/** The routes that the admin port, with a session, and the control socket, without one, have in common. */
export function adminRoutes(parts: AdminParts): Route[] {
  return [
    ...nodeRoutes(parts),
    ...settingsRoutes(parts),
    ...userRoutes(parts),
    ...topicRoutes(parts),
    ...storeRoutes(parts),
    ...adminEventRoutes(parts),
    ...redactionRoutes(parts),
    ...adminFileRoutes(parts),
    ...observingRoutes(parts),
    ...otherNodeRoutes(parts),
  ]
}
