import type { Health } from '../../observability/health.ts'
import { type Answer, jsonAnswer } from '../answer.ts'
import type { Endpoint, Route } from '../router.ts'

/** Liveness and readiness probes, without a token: supervisors have none. */
export function healthRoutes(health: Health, paths: { alive: readonly string[]; ready: readonly string[] }): Route[] {
  const alive = (): Answer => jsonAnswer(200, { status: 'alive' })
  const ready = (): Answer => {
    const reasons = health.reasons()
    return reasons.length === 0
      ? jsonAnswer(200, { status: 'ready' })
      : jsonAnswer(503, { status: 'not ready', reasons })
  }
  return [...paths.alive.map((path) => readRoute(path, alive)), ...paths.ready.map((path) => readRoute(path, ready))]
}

function readRoute(path: string, answer: () => Answer): Route {
  const endpoint: Endpoint = { token: false, answer }
  return { path, methods: { GET: endpoint, HEAD: endpoint } }
}
