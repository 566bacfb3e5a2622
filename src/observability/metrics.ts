import { residentBytes } from '../runtime/process-memory.ts'

/** The labels of a sample. */
export type MetricLabels = Readonly<Record<string, string | number>>

export interface Sample {
  readonly labels?: MetricLabels
  readonly value: number
}

/** A histogram's count and sum, and cumulative buckets: the number of values up to each bound. */
export interface Distribution {
  readonly count: number
  readonly sum: number
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[]
}

export interface LabelledDistribution extends Distribution {
  readonly labels?: MetricLabels
}

interface Described {
  readonly name: string
  readonly help: string
  /** Whether it has a sample per peer: such families are left out of metrics events, which all nodes store. */
  readonly isPerPeer?: boolean
}

/** A metric family: all samples with one name. */
export type Metric =
  | (Described & { readonly type: 'counter' | 'gauge'; readonly samples: () => Iterable<Sample> })
  | (Described & { readonly type: 'histogram'; readonly distributions: () => Iterable<LabelledDistribution> })

/** A monotonic counter, with one value per label value. */
export class Counter {
  readonly #label: string | undefined
  readonly #values = new Map<string | number, number>()

  constructor(label?: string) {
    this.#label = label
  }

  /** Callers have to keep the cardinality of labels low. */
  add(value = 1, label: string | number = ''): void {
    this.#values.set(label, (this.#values.get(label) ?? 0) + value)
  }

  *samples(): Generator<Sample> {
    if (this.#label === undefined) yield { value: this.#values.get('') ?? 0 }
    else for (const [label, value] of this.#values) yield { labels: { [this.#label]: label }, value }
  }
}

/** A histogram with fixed bucket bounds. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #count = 0
  #sum = 0

  /** `bounds` are the upper bounds of the buckets, in ascending order. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#count++
    this.#sum += value
    const at = this.#bounds.findIndex((bound) => value <= bound)
    if (at >= 0) this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  get distribution(): Distribution {
    let count = 0
    const buckets = this.#bounds.map((upTo, at) => {
      count += this.#counts[at] ?? 0
      return { upTo, count }
    })
    return { count: this.#count, sum: this.#sum, buckets }
  }
}

/** The metrics registry of the node, for Prometheus and for metrics events. */
export class Metrics {
  readonly #metrics: Metric[] = []
  readonly #constantLabels: () => MetricLabels

  /** `constantLabels` returns labels that are added to every sample in the text, to distinguish nodes. */
  constructor(constantLabels: () => MetricLabels = () => ({})) {
    this.#constantLabels = constantLabels
  }

  get all(): readonly Metric[] {
    return this.#metrics
  }

  counter(name: string, help: string, label?: string): Counter {
    const counter = new Counter(label)
    this.#metrics.push({ name, help, type: 'counter', samples: () => counter.samples() })
    return counter
  }

  /** A gauge that is sampled on collection; it may have no value at that moment. */
  gauge(name: string, help: string, sample: () => Sample | undefined): void {
    const samples = (): Sample[] => [sample()].filter((found) => found !== undefined)
    this.#metrics.push({ name, help, type: 'gauge', samples })
  }

  /** A gauge with a sample per label value. Callers have to keep their number low. */
  gauges(name: string, help: string, samples: () => Iterable<Sample>): void {
    this.#metrics.push({ name, help, type: 'gauge', samples })
  }

  /** A counter whose values are kept elsewhere and read on collection. */
  counted(name: string, help: string, samples: () => Iterable<Sample>): void {
    this.#metrics.push({ name, help, type: 'counter', samples })
  }

  /** A counter or gauge with a sample per peer, which is read on collection. */
  perPeer(type: 'counter' | 'gauge', name: string, help: string, samples: () => Iterable<Sample>): void {
    this.#metrics.push({ name, help, type, samples, isPerPeer: true })
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds)
    this.#metrics.push({ name, help, type: 'histogram', distributions: () => [histogram.distribution] })
    return histogram
  }

  /** Histograms of one family, one per label value. Callers have to keep their number low. */
  histograms(name: string, help: string, bounds: readonly number[], label: string): (value: string) => Histogram {
    const histograms = new Map<string, Histogram>()
    const distributions = (): LabelledDistribution[] =>
      [...histograms].map(([value, { distribution }]) => ({ ...distribution, labels: { [label]: value } }))
    this.#metrics.push({ name, help, type: 'histogram', distributions })
    return (value) => {
      const histogram = histograms.get(value) ?? new Histogram(bounds)
      histograms.set(value, histogram)
      return histogram
    }
  }

  /** The Prometheus text exposition format, version 0.0.4. */
  text(): string {
    const constantLabels = this.#constantLabels()
    const blocks = this.#metrics.map((metric) => {
      const { name, help, type } = metric
      const samples =
        metric.type === 'histogram' ? [...metric.distributions()].flatMap(histogramSamples) : metric.samples()
      const lines = Array.from(samples, ({ suffix = '', labels, value }: SuffixedSample) => {
        return `${name}${suffix}${labelsText({ ...constantLabels, ...labels })} ${value}\n`
      })
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    return blocks.join('')
  }
}

interface SuffixedSample extends Sample {
  readonly suffix?: string
}

function histogramSamples({ count, sum, buckets, labels = {} }: LabelledDistribution): SuffixedSample[] {
  const suffix = '_bucket'
  return [
    ...buckets.map(({ upTo, count: value }) => ({ suffix, labels: { ...labels, le: upTo }, value })),
    { suffix, labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ]
}

function labelsText(labels: MetricLabels): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return parts.length === 0 ? '' : `{${parts.join()}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** Histogram buckets in seconds, from a cached answer to one that takes too long. */
export const durationBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The standard process metrics of Prometheus. */
export function addProcessMetrics(metrics: Metrics, startSeconds: number): void {
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  metrics.counted('process_cpu_seconds_total', 'CPU time of the process, in seconds.', () => [{ value: cpuSeconds() }])
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process.', () => {
    const value = residentBytes()
    return value === undefined ? undefined : { value }
  })
  metrics.gauge('process_start_time_seconds', 'When the process started, in seconds since the Unix epoch.', () => ({
    value: startSeconds,
  }))
}
