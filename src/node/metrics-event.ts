import type { Metric, MetricLabels, Metrics } from '../observability/metrics.ts'

type Labels = readonly (readonly [name: string, value: string])[]
type NumberBody = readonly [labels: Labels, milliseconds: number, value: number]
type Buckets = readonly (readonly [count: number, upTo: number])[]
type Histogram = readonly [labels: Labels, milliseconds: number, count: number, sum: number, buckets: Buckets]
type Measured = readonly [
  name: string,
  help: string,
  samples: readonly (readonly [kind: number, NumberBody | Histogram])[],
]

/** The type codes of metrics in a metrics event. */
const kinds: Readonly<Record<Metric['type'], number>> = { counter: 0, gauge: 1, histogram: 4 }

/** The payload of a metrics event: a snapshot of all metrics, except those per peer: it would grow with the swarm. */
export function metricsPayload(metrics: Metrics, milliseconds: number): Measured[] {
  const families = metrics.all.filter(({ isPerPeer }) => isPerPeer !== true)
  return families.map((metric) => {
    const bodies = metric.type === 'histogram' ? histograms(metric, milliseconds) : numbers(metric, milliseconds)
    return [metric.name, metric.help, bodies.map((body) => [kinds[metric.type], body] as const)]
  })
}

function numbers({ samples }: Exclude<Metric, { type: 'histogram' }>, milliseconds: number): NumberBody[] {
  return Array.from(samples(), ({ labels, value }) => [labelsOf(labels), milliseconds, value])
}

function histograms({ distributions }: Extract<Metric, { type: 'histogram' }>, milliseconds: number): Histogram[] {
  return Array.from(distributions(), ({ count, sum, buckets, labels }) => {
    const bounds = buckets.map((bucket) => [bucket.count, bucket.upTo] as const)
    return [labelsOf(labels), milliseconds, count, sum, bounds]
  })
}

function labelsOf(labels: MetricLabels = {}): Labels {
  return Object.entries(labels).map(([label, text]) => [label, String(text)] as const)
}
