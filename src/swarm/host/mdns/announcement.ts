import { limits } from '../../../base/limits.ts'
import { type PublicKey, parsePeerId, peerIdOf } from '../../../identity/index.ts'
import { dialAddress } from '../addresses.ts'
import { type DnsMessage, decodeTexts, encodeName, encodeTexts, recordTypes } from './dns-message.ts'

/** A node and where it can be reached. */
export interface Announcement {
  /** Its public key as latin1. */
  readonly peer: string
  readonly addresses: readonly string[]
}

const ttlSeconds = 120

/** Fits into every link without fragments. */
const maxTextBytes = 1000

export function query(service: string): DnsMessage {
  return { isResponse: false, questions: [{ name: service, type: recordTypes.ptr }], records: [] }
}

export function isQuery({ isResponse, questions }: DnsMessage, service: string): boolean {
  return !isResponse && questions.some(({ name, type }) => name === service && type === recordTypes.ptr)
}

/** A response with the addresses of a node; those that do not fit are left out. */
export function announcement(service: string, { peer, addresses }: Announcement): DnsMessage {
  const id = peerIdOf(new Uint8Array(Buffer.from(peer, 'latin1')) as PublicKey)
  const instance = `${id.toLowerCase()}.${service}`
  const texts = [`peer=${id}`]
  let size = 0
  for (const address of addresses.slice(0, limits.addressesPerNode)) {
    const text = `addr=${address}`
    size += text.length + 1
    if (text.length <= 255 && size <= maxTextBytes) texts.push(text)
  }
  return {
    isResponse: true,
    questions: [],
    records: [
      { name: service, type: recordTypes.ptr, ttlSeconds, data: encodeName(instance) },
      { name: instance, type: recordTypes.txt, ttlSeconds, data: encodeTexts(texts) },
    ],
  }
}

/** The nodes that a message announces. What is malformed is skipped. */
export function announced({ isResponse, records }: DnsMessage, service: string): Announcement[] {
  if (!isResponse) return []
  return records
    .filter(({ name, type }) => type === recordTypes.txt && name.endsWith(`.${service}`))
    .flatMap(({ data }) => parseTexts(data))
}

function parseTexts(data: Buffer): Announcement[] {
  try {
    const texts = decodeTexts(data)
    const id = texts.find((text) => text.startsWith('peer='))
    if (id === undefined) return []
    const addresses = texts
      .filter((text) => text.startsWith('addr='))
      .slice(0, limits.addressesPerNode)
      .map((text) => dialAddress(text.slice('addr='.length)).toString())
    return [{ peer: Buffer.from(parsePeerId(id.slice('peer='.length))).toString('latin1'), addresses }]
  } catch {
    return []
  }
}
