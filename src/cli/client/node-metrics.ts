import { limits } from '../../base/limits.ts'
import type { Timers } from '../../runtime/timers.ts'
import { MetricsText } from './metrics-text.ts'
import type { NodeClient } from './node-client.ts'
import { readText } from './response-body.ts'

/** Reads the metrics of a node. */
export async function readMetrics(node: NodeClient, timers: Timers): Promise<MetricsText> {
  const response = await node.stream({ method: 'GET', path: '/metrics' })
  const limited = { maxBytes: limits.commandAnswerBytes, timeoutMs: limits.controlAnswerMs, timers }
  return new MetricsText(await readText(response, limited))
}
