import type { Connection } from '@libp2p/interface'
import { limits } from '../../base/limits.ts'
import type { Timers } from '../../runtime/timers.ts'

/** Closes a connection after what was sent, and cuts it after a while. */
export async function closeConnection(connection: Connection, timers: Timers): Promise<void> {
  const timeout = new AbortController()
  const timer = timers.setTimeout(() => timeout.abort(), limits.connectionCloseMs)
  try {
    await connection.close({ signal: timeout.signal })
  } catch {
    connection.abort(new Error('the connection could not be closed in time'))
  } finally {
    timers.clear(timer)
  }
}
