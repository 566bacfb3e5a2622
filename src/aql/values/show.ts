import type { AqlEvent } from './event.ts'
import { type Metadata, Span } from './metadata.ts'
import { bytesText, decimalText, instantText } from './text.ts'
import { Bytes, Composed, Decimal, isArray, Timestamp, type Value } from './value.ts'

/** Characters after which a value is truncated in a message. */
const shownLength = 1000

/** Formats a value for a message: its provenance and its notation. */
export function show(value: Value, metadata: Metadata): string {
  return `${origin(metadata)}: ${notation(value)}`
}

function origin(metadata: Metadata): string {
  if (metadata === undefined) return 'synthetic'
  if (metadata instanceof Span)
    return `${place(metadata.first, metadata.earliest)} - ${place(metadata.last, metadata.latest)}`
  return place(metadata, metadata.time)
}

function place({ lamport, stream }: Pick<AqlEvent, 'lamport' | 'stream'>, time: number): string {
  return `${lamport}/${stream.node.slice(0, 4)}-${stream.number}@${localText(time)}`
}

/** Local time with the UTC offset. */
function localText(micros: number): string {
  const minutes = -new Date(micros / 1000).getTimezoneOffset() || 0
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const two = (part: number) => String(part).padStart(2, '0')
  return `${instantText(micros + minutes * 60e6).slice(0, -1)}${minutes < 0 ? '-' : '+'}${two(hours)}:${two(rest)}`
}

/** A notation that distinguishes all kinds of values, truncated where it gets long. */
export function notation(value: Value): string {
  const text = new Notation()
  text.add(value)
  return text.text
}

class Notation {
  text = ''

  add(value: Value): void {
    if (this.text.length > shownLength) return
    if (typeof value === 'string') this.#write(quoted(value))
    else if (typeof value === 'number') this.#write(Number.isInteger(value) ? String(value) : decimalText(value))
    else if (typeof value !== 'object' || value === null) this.#write(String(value))
    else if (value instanceof Decimal) this.#write(decimalText(value.value))
    else if (value instanceof Timestamp) this.#write(instantText(value.micros))
    else if (value instanceof Bytes) this.#write(bytesText(value.bytes))
    else if (isArray(value)) this.#list('[', ']', value, (item) => this.add(item))
    else
      this.#list('{', '}', value instanceof Composed ? value.entries : Object.entries(value), ([key, item]) => {
        this.add(key)
        this.#write(': ')
        this.add(item)
      })
  }

  #list<Item>(open: string, close: string, items: readonly Item[], add: (item: Item) => void): void {
    this.#write(open)
    for (const [at, item] of items.entries()) {
      if (this.text.length > shownLength) break
      if (at > 0) this.#write(', ')
      add(item)
    }
    this.#write(close)
  }

  #write(text: string): void {
    if (this.text.length > shownLength) return
    this.text += text.length > shownLength ? `${text.slice(0, shownLength)}…` : text
    if (this.text.length > shownLength && !this.text.endsWith('…')) this.text += '…'
  }
}

function quoted(text: string): string {
  return `"${text.replace(/["'\\]/g, '\\$&').replaceAll('\n', '\\n')}"`
}
