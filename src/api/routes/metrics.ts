import type { Metrics } from '../../observability/metrics.ts'
import type { HttpResponse } from '../response.ts'
import type { Route, RouteMethod } from '../router.ts'

/** Prometheus metrics, without a token: scrapers have none. */
export function metricsRoutes(metrics: Metrics): Route[] {
  const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }
  const handle = (): HttpResponse => ({ status: 200, headers, body: metrics.text() })
  const endpoint: RouteMethod = { authenticated: false, handle }
  return ['/metrics', '/api/v2/metrics'].map((path) => ({ path, methods: { GET: endpoint, HEAD: endpoint } }))
}
