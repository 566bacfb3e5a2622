/** Names with values that tell samples of one metric apart. */
export type MetricLabels = Readonly<Record<string, string | number>>

export interface Sample {
  readonly labels?: MetricLabels
  readonly value: number
}

/** What is known under one name. */
export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** Measures. */
  readonly samples: () => Iterable<Sample>
}

/** A number that only grows; one for each value of its label. */
export class Counter {
  readonly #label: string | undefined
  readonly #values = new Map<string | number, number>()

  constructor(label?: string) {
    this.#label = label
  }

  /** The values of a label are few: whoever counts sees to that. */
  add(value = 1, label: string | number = ''): void {
    this.#values.set(label, (this.#values.get(label) ?? 0) + value)
  }

  *samples(): Generator<Sample> {
    if (this.#label === undefined) yield { value: this.#values.get('') ?? 0 }
    else for (const [label, value] of this.#values) yield { labels: { [this.#label]: label }, value }
  }
}

/** What the parts of the node count and measure, for monitoring systems and for metrics events. */
export class Metrics {
  readonly #metrics: Metric[] = []

  get all(): readonly Metric[] {
    return this.#metrics
  }

  counter(name: string, help: string, label?: string): Counter {
    const counter = new Counter(label)
    this.#metrics.push({ name, help, type: 'counter', samples: () => counter.samples() })
    return counter
  }

  /** A value that is asked for when somebody collects it. */
  gauge(name: string, help: string, sample: () => Sample): void {
    this.#metrics.push({ name, help, type: 'gauge', samples: () => [sample()] })
  }

  /** A number that only grows and is counted elsewhere. */
  counted(name: string, help: string, value: () => number): void {
    this.#metrics.push({ name, help, type: 'counter', samples: () => [{ value: value() }] })
  }

  /** The text exposition format, version 0.0.4. */
  text(): string {
    const blocks = this.#metrics.map(({ name, help, type, samples }) => {
      const lines = Array.from(samples(), ({ labels, value }) => `${name}${labelsText(labels)} ${value}\n`)
      return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
    })
    return blocks.join('')
  }
}

function labelsText(labels: MetricLabels = {}): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return parts.length === 0 ? '' : `{${parts.join()}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
}

/** What every process has. */
export function addProcessMetrics(metrics: Metrics): void {
  const cpuSeconds = (): number => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  metrics.counted('process_cpu_seconds_total', 'CPU time of the process, in seconds.', cpuSeconds)
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process.', () => ({ value: process.memoryUsage.rss() }))
  metrics.gauge('process_start_time_seconds', 'When the process started, in seconds since the Unix epoch.', () => ({
    value: Math.floor(performance.timeOrigin / 1000),
  }))
}
