import type { Health } from '../../observability/health.ts'
import { type HttpResponse, jsonResponse } from '../response.ts'
import type { Route, RouteMethod } from '../router.ts'

/** Liveness and readiness probes, without a token: supervisors have none. */
export function healthRoutes(health: Health, paths: { alive: readonly string[]; ready: readonly string[] }): Route[] {
  const alive = (): HttpResponse => jsonResponse(200, { status: 'alive' })
  const ready = (): HttpResponse => {
    const reasons = health.reasons()
    return reasons.length === 0
      ? jsonResponse(200, { status: 'ready' })
      : jsonResponse(503, { status: 'not ready', reasons })
  }
  return [...paths.alive.map((path) => readRoute(path, alive)), ...paths.ready.map((path) => readRoute(path, ready))]
}

function readRoute(path: string, handle: () => HttpResponse): Route {
  const endpoint: RouteMethod = { authenticated: false, handle }
  return { path, methods: { GET: endpoint, HEAD: endpoint } }
}
