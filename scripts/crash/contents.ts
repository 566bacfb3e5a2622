import { encodeLabels } from '../../src/protocol/index.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'
import { Random } from './random.ts'

export interface SentEvent {
  readonly stream: number
  readonly appId: string
  /** In storage order. */
  readonly tags: readonly string[]
  readonly payload: string
}

/** The maximum number of requests per life. The requests of a life are numbered from `life × requestsPerLife`. */
export const requestsPerLife = 1_000_000
/** Requests from this number on are of maximum size and for one stream, so that it is sealed while it grows. */
export const firstHeavy = 500_000

/** The numbers of the streams that are written to. */
export const streams = [0, 1, 2] as const

/** A marker at the start of every payload, by which it can be found in the files. */
export const marks = /crash-payload-\d+-\d+-/g

export function markOf(id: number, index: number): string {
  return `crash-payload-${id}-${index}-`
}

const letters = filler()

/** The events of a request, derived from the seed and the number of the request, so they need not be stored. */
export function eventsOf(seed: string, id: number): SentEvent[] {
  const random = new Random(`${seed}/request/${id}`)
  const heavy = id % requestsPerLife >= firstHeavy
  const count = heavy ? 1500 : sizeOf(random)
  const streamOf = heavy ? () => 0 : layout(random, count)
  const large = count === 1 ? largeOf(random) : 0
  return Array.from({ length: count }, (_, i) => {
    const length = large > 0 ? large : random.below(120)
    const start = random.below(letters.length - length)
    return {
      stream: streamOf(i),
      appId: `com.example.crash${i % 3}`,
      tags: ['all', `i:${i % 10}`, tagOf(id)],
      payload: `{"r":${id},"i":${i},"p":"${markOf(id, i)}${letters.slice(start, start + length)}"}`,
    }
  })
}

/** The tag that all events of a request have. */
export function tagOf(id: number): string {
  return `r:${id}`
}

export function toRequest(events: readonly SentEvent[]): AppendRequest {
  const labels = new Map<string, Buffer>()
  const labelsOf = ({ appId, tags }: SentEvent): Buffer => {
    const key = `${appId} ${tags.join(' ')}`
    const known = labels.get(key) ?? encodeLabels(appId, tags)
    labels.set(key, known)
    return known
  }
  const parts = events.flatMap((event) => [labelsOf(event), Buffer.from(event.payload)])
  const spans = new Int32Array(2 * parts.length)
  let at = 0
  for (const [i, part] of parts.entries()) {
    spans[2 * i] = at
    at += part.length
    spans[2 * i + 1] = at
  }
  return { source: Buffer.concat(parts), spans, streams: Uint32Array.from(events, ({ stream }) => stream) }
}

/** The request of a payload, and its index there, parsed from the payload. */
export function originOf(payload: string): { id: number; index: number } | undefined {
  const found = /^\{"r":(\d+),"i":(\d+),/.exec(payload)
  return found === null ? undefined : { id: Number(found[1]), index: Number(found[2]) }
}

function sizeOf(random: Random): number {
  const share = random.next()
  if (share < 0.6) return 1
  if (share < 0.9) return 20
  return share < 0.97 ? 300 : 1500
}

/** The size of a payload: sometimes several pages, or a whole chunk. */
function largeOf(random: Random): number {
  const share = random.next()
  if (share < 0.01) return 1_200_000
  return share < 0.06 ? 5000 + random.below(60_000) : 0
}

/** The streams of a request: one stream, runs of all streams, or another stream for each event. */
function layout(random: Random, count: number): (index: number) => number {
  const first = random.below(streams.length)
  const share = random.next()
  if (share < 0.7) return () => first
  if (share < 0.85 && count <= 20) return (index) => (first + index) % streams.length
  return (index) => (first + Math.floor((index * streams.length) / count)) % streams.length
}

/** Text with an average compression ratio. */
function filler(): string {
  const random = new Random('filler')
  const alphabet = 'abcdefghijklmnopqrstuvwxyz     0123456789'
  let text = ''
  while (text.length < 50_000) text += alphabet[random.below(alphabet.length)]
  return text.repeat(40)
}
