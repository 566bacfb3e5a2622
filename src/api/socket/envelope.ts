import { closeObject, JsonScanner, openObject } from '../../json/json-scanner.ts'

/** A message of a client of the WebSocket. The payload stays the text that it is. */
export type Envelope =
  | {
      readonly type: 'request'
      readonly serviceId: string
      /** As it was written: it may be larger than a number can be. */
      readonly requestId: string
      readonly payload: Buffer
    }
  | { readonly type: 'cancel'; readonly requestId: string }

const names = ['type', 'serviceId', 'requestId', 'payload'].map((name) => Buffer.from(name))
const largestId = 2n ** 64n - 1n

/** Reads a message; nothing when it is none. */
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

/** The texts of the members, in the order of their names. */
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
