import { type EventParts, eventRoutes, type Route } from '../../api/index.ts'
import { adminPath } from './requests.ts'

const apiPath = '/api/v2'

/** Offsets, queries, subscriptions and publishing, as on the API, with the app ID of the operator. */
export function adminEventRoutes(parts: EventParts): Route[] {
  return eventRoutes(parts)
    .filter(({ methods }) => Object.values(methods).every(({ authenticated }) => authenticated))
    .map(({ path, methods }) => ({ path: `${adminPath}${path.slice(apiPath.length)}`, methods }))
}
