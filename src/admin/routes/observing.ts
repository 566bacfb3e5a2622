import type { Call, HttpResponse, Route } from '../../api/index.ts'
import { isAtLeast, levels, type RecentLine, type RecentLines } from '../../logging/index.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Timers } from '../../runtime/timers.ts'
import { LogStream } from './log-stream.ts'
import { adminPath, flagOf, invalid, parametersOf } from './requests.ts'

export interface ObservingParts {
  readonly metrics: Metrics
  /** The newest log lines. */
  readonly recentLines: RecentLines
  readonly timers: Timers
}

const ndjson = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }

/** Metrics and log lines, for operators. */
export function observingRoutes({ metrics, recentLines, timers }: ObservingParts): Route[] {
  const text = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }
  const metricsText = (): HttpResponse => ({ status: 200, headers: text, body: metrics.text() })
  const logs = (call: Call): HttpResponse => {
    const parameters = parametersOf(call)
    const isWanted = selection(parameters)
    const lines = recentLines.lines.filter(isWanted)
    if (!flagOf(parameters, 'follow', false))
      return { status: 200, headers: ndjson, body: lines.map((line) => line.text).join('') }
    const subscribe = (listener: (line: RecentLine) => void): (() => void) =>
      recentLines.onLine((line) => {
        if (isWanted(line)) listener(line)
      })
    return { status: 200, headers: ndjson, body: new LogStream(lines, subscribe, timers) }
  }
  return [
    { path: `${adminPath}/metrics`, methods: { GET: { authenticated: true, handle: metricsText } } },
    { path: `${adminPath}/logs`, methods: { GET: { authenticated: true, handle: logs } } },
  ]
}

function selection(parameters: URLSearchParams): (line: RecentLine) => boolean {
  const since = parameters.get('since')
  const micros = since === null ? 0 : Date.parse(since) * 1000
  if (Number.isNaN(micros))
    throw invalid(`since: '${since}' is not a time. Allowed: RFC 3339, like 2026-01-31T12:00:00Z.`)
  const text = parameters.get('level')
  const least = text === null ? 'TRACE' : levels.find((level) => level === text.toUpperCase())
  if (least === undefined) throw invalid(`level: '${text}' is not allowed. Allowed: ${levels.join(', ')}.`)
  return (line) => line.micros >= micros && isAtLeast(line.level, least)
}
