import type { Health } from '../health.ts'
import type { NodeId } from '../identity/index.ts'
import { type Answer, jsonAnswer, type Routes, textAnswer } from './server.ts'

/** What the API answers without a token. */
export function apiRoutes(health: Health, nodeId: NodeId): Routes {
  return {
    ...healthRoutes(health, { alive: ['/healthz', '/api/v2/health'], ready: ['/readyz', '/api/v2/ready'] }),
    '/api/v2/node/id': () => textAnswer(nodeId),
  }
}

/** What the admin interface answers without a session. */
export function adminRoutes(health: Health): Routes {
  return healthRoutes(health, { alive: ['/api/v2/admin/health'], ready: ['/api/v2/admin/ready'] })
}

function healthRoutes(health: Health, paths: { alive: string[]; ready: string[] }): Routes {
  const alive = (): Answer => jsonAnswer(200, { status: 'alive' })
  const ready = (): Answer => {
    const reasons = health.reasons()
    return reasons.length === 0
      ? jsonAnswer(200, { status: 'ready' })
      : jsonAnswer(503, { status: 'not ready', reasons })
  }
  return Object.fromEntries([
    ...paths.alive.map((path) => [path, alive] as const),
    ...paths.ready.map((path) => [path, ready] as const),
  ])
}
