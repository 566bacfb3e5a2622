/** The samples of a metric by one of its labels, or by '' without it. */
export type Samples = Readonly<Record<string, number>>

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/s
const labelText = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/gs

/** Metrics of a node in the Prometheus text format. Lines of other forms are skipped: a later version may have them. */
export class MetricsText {
  readonly #samples = new Map<string, { readonly labels: ReadonlyMap<string, string>; readonly value: number }[]>()

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value = ''] = sampleLine.exec(line) ?? []
      if (name === undefined || !Number.isFinite(Number(value))) continue
      const found = this.#samples.get(name) ?? []
      found.push({ labels: labelsIn(labels), value: Number(value) })
      this.#samples.set(name, found)
    }
  }

  /** The sum of all samples of a metric; undefined when there is none. */
  total(name: string): number | undefined {
    return this.#samples.get(name)?.reduce((sum, { value }) => sum + value, 0)
  }

  /** The samples of a metric by the value of a label. */
  by(name: string, label: string): Samples {
    const found = this.#samples.get(name) ?? []
    return Object.fromEntries(found.map(({ labels, value }) => [labels.get(label) ?? '', value]))
  }
}

function labelsIn(text: string): ReadonlyMap<string, string> {
  const labels = [...text.matchAll(labelText)]
  return new Map(labels.map(([, name = '', value = '']) => [name, value.replace(/\\(.)/gs, unescaped)]))
}

function unescaped(_: string, character: string): string {
  return character === 'n' ? '\n' : character
}
