import { limits } from '../base/limits.ts'
import { ConnectionLimit } from '../listening/connection-limit.ts'
import { type Logger, RateLimit } from '../logging/index.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import { type ConnectionShares, connectionsPerPort, openFileLimit, raiseOpenFiles } from '../runtime/descriptors.ts'

const ports = { api: 'API', admin: 'admin port', swarm: 'swarm port' } as const

/** The connection limit of each port, with a counter and rate-limited log lines for refused connections. */
export function connectionLimits(
  shares: ConnectionShares,
  metrics: Metrics,
  log: Logger,
  clock: Clock,
): Record<keyof ConnectionShares, ConnectionLimit> {
  const help = 'Connections that were refused because of the connection limit, by port.'
  const refused = metrics.counter('shoal_connections_refused_total', help, 'listener')
  const limitOf = (port: keyof typeof ports): ConnectionLimit => {
    const max = shares[port]
    const rate = new RateLimit(limits.refusalLogMs, clock)
    const hint = max < limits.connections ? ' More are possible with a higher limit of open files.' : ''
    refused.add(0, port)
    return new ConnectionLimit(max, () => {
      refused.add(1, port)
      rate.occurred((count) => {
        const what = count === 1 ? '1 connection' : `${count} connections`
        log.warn(`${what} to the ${ports[port]} refused: all ${max} that it can have are open.${hint}`)
      })
    })
  }
  const perPort = { api: limitOf('api'), admin: limitOf('admin'), swarm: limitOf('swarm') }
  // The swarm counts its connections by itself.
  metrics.gauges('shoal_connections_open', 'Open connections, by port.', () =>
    (['api', 'admin'] as const).map((listener) => ({ labels: { listener }, value: perPort[listener].open })),
  )
  return perPort
}

/** The number of connections that the limit of open files allows; warns when it is low, throws when it is too low. */
export function availableConnections(log: Logger): ConnectionShares {
  const openFiles = openFileLimit()
  const shares = connectionsPerPort(openFiles)
  if (shares.api < limits.warnBelowConnections) {
    const few = `Only ${shares.api} connections to the API are possible`
    log.warn(`${few}, since the limit of open files is ${openFiles}. ${raiseOpenFiles}`)
  }
  return shares
}
