import type { Files } from '../../files/index.ts'
import type { Health } from '../../observability/health.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Route } from '../router.ts'
import { aqlRoutes } from './aql.ts'
import { type AuthParts, authRoutes } from './auth.ts'
import { type Blobs, blobRoutes } from './blobs.ts'
import { type EventParts, eventRoutes } from './events.ts'
import { fileRoutes } from './files.ts'
import { healthRoutes } from './health.ts'
import { metricsRoutes } from './metrics.ts'
import { type NodeParts, nodeRoutes } from './node.ts'
import { openApiRoutes } from './openapi.ts'

/** The dependencies of the API routes. */
export interface ApiParts extends AuthParts, NodeParts, EventParts {
  readonly health: Health
  readonly files: () => Promise<Files>
  readonly blobs: () => Promise<Blobs>
  readonly metrics: Metrics
}

/** All routes of the API. */
export function apiRoutes(parts: ApiParts): Route[] {
  return openApiRoutes([
    ...healthRoutes(parts.health, { alive: ['/healthz', '/api/v2/health'], ready: ['/readyz', '/api/v2/ready'] }),
    ...authRoutes(parts),
    ...nodeRoutes(parts),
    ...eventRoutes(parts),
    ...aqlRoutes(parts.events),
    ...fileRoutes(parts.files),
    ...blobRoutes(parts.blobs),
    ...metricsRoutes(parts.metrics),
  ])
}

/** Health and readiness for the admin port. */
export function adminHealthRoutes(health: Health): Route[] {
  return healthRoutes(health, { alive: ['/api/v2/admin/health'], ready: ['/api/v2/admin/ready'] })
}

export type { Blobs } from './blobs.ts'
export { type EventParts, eventRoutes } from './events.ts'
export { fileRoutes } from './files.ts'
export type { SwarmInfo } from './node.ts'
