import { closeObject, JsonScanner, openObject } from '../../json/json-scanner.ts'

/** A client message on the WebSocket. The payload is not parsed yet. */
export type Envelope =
  | {
      readonly type: 'request'
      readonly serviceId: string
      /** A string: an unsigned 64-bit integer may exceed the safe integers of JavaScript. */
      readonly requestId: string
      readonly payload: Buffer
    }
  | { readonly type: 'cancel'; readonly requestId: string }

const names = ['type', 'serviceId', 'requestId', 'payload'].map((name) => Buffer.from(name))
const largestId = 2n ** 64n - 1n

/** Parses a message; nothing when it is malformed. */
export function readEnvelope(bytes: Buffer): Envelope | undefined {
  try {
    const [type, serviceId, requestId, payload] = members(bytes)
    const id = requestId?.toString('latin1')
    if (type === undefined || id === undefined || !/^\d{1,20}$/.test(id) || BigInt(id) > largestId) return undefined
    const kind: unknown = JSON.parse(type.toString())
    if (kind === 'cancel') return { type: 'cancel', requestId: String(BigInt(id)) }
    if (kind !== 'request' || serviceId === undefined || payload === undefined) return undefined
    const service: unknown = JSON.parse(serviceId.toString())
    if (typeof service !== 'string') return undefined
    return { type: 'request', serviceId: service, requestId: String(BigInt(id)), payload }
  } catch {
    return undefined
  }
}

/** The raw JSON of the members, in the order of `names`. */
function members(bytes: Buffer): (Buffer | undefined)[] {
  const scanner = new JsonScanner(bytes)
  const found: (Buffer | undefined)[] = names.map(() => undefined)
  scanner.open(openObject, 'a message')
  for (let more = scanner.begins(closeObject); more; more = scanner.continues(closeObject)) {
    const name = scanner.key(names)
    scanner.next()
    const start = scanner.at
    scanner.value()
    if (name >= 0) found[name] = bytes.subarray(start, scanner.at)
  }
  scanner.finish()
  return found
}
