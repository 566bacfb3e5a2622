import type { AppendHints, AppendRequest, EventStore } from '../../src/store/index.ts'

/** A store that takes requests in parts, over one that does not. */
export function withParts(store: EventStore): EventStore & AppendHints {
  const hints: AppendHints = {
    expect: () => {},
    appendParts: async (first, rest) => await store.append(joined(first, rest)),
  }
  const added = new Map<string | symbol, unknown>(Object.entries(hints))
  return new Proxy(store as EventStore & AppendHints, {
    get: (target, name) => added.get(name) ?? (Reflect.get(target, name) as () => unknown).bind(target),
  })
}

/** All parts of a request as one. */
function joined(first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): AppendRequest {
  const sources: Buffer[] = []
  const spans: number[] = []
  const streams: number[] = []
  let bytes = 0
  const add = ({ source, ...part }: AppendRequest): void => {
    spans.push(...Array.from(part.spans, (place) => bytes + place))
    streams.push(...part.streams)
    sources.push(Buffer.from(source))
    bytes += source.length
  }
  add(first)
  for (;;) {
    const { value, done } = rest.next()
    add(value)
    if (done === true)
      return { source: Buffer.concat(sources), spans: Int32Array.from(spans), streams: Uint32Array.from(streams) }
  }
}
