import type { Metric, Metrics, Sample } from '../metrics.ts'

type Labels = readonly (readonly [name: string, value: string])[]
type Body = readonly [labels: Labels, milliseconds: number, value: number]
type Measured = readonly [name: string, help: string, samples: readonly (readonly [kind: number, body: Body])[]]

/** The numbers by which readers of metrics events tell kinds of metrics apart. */
const kinds: Readonly<Record<Metric['type'], number>> = { counter: 0, gauge: 1 }

/** The payload of a metrics event: everything that is measured, as it is now. */
export function metricsPayload(metrics: Metrics, milliseconds: number): Measured[] {
  return metrics.all.map(({ name, help, type, samples }) => [
    name,
    help,
    Array.from(samples(), ({ labels = {}, value }: Sample) => {
      const texts = Object.entries(labels).map(([label, text]) => [label, String(text)] as const)
      return [kinds[type], [texts, milliseconds, value]] as const
    }),
  ])
}
