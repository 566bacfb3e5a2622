import { limits } from '../base/limits.ts'
import { ConnectionLimit } from '../listening/connection-limit.ts'
import { type Logger, RateLimit } from '../logging/index.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import { type ConnectionShares, connectionShares, openFileLimit, raiseOpenFiles } from '../runtime/descriptors.ts'

const ports = { api: 'API', admin: 'admin port', swarm: 'swarm port' } as const

/** The limit of connections of each port, with a counter and log lines for those that were refused. */
export function connectionLimits(
  shares: ConnectionShares,
  metrics: Metrics,
  log: Logger,
  clock: Clock,
): Record<keyof ConnectionShares, ConnectionLimit> {
  const help = 'Connections that were closed at once since too many were open, by port.'
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
  return { api: limitOf('api'), admin: limitOf('admin'), swarm: limitOf('swarm') }
}

/** How many connections the limit of open files leaves room for; warns when they are few, and throws when they are too few. */
export function availableConnections(log: Logger): ConnectionShares {
  const openFiles = openFileLimit()
  const shares = connectionShares(openFiles)
  if (shares.api < limits.fewConnections) {
    const few = `Only ${shares.api} connections to the API are possible`
    log.warn(`${few}, since the limit of open files is ${openFiles}. ${raiseOpenFiles}`)
  }
  return shares
}
