import { format } from '../base/format.ts'

/** Bytes by which a record can grow per event when payloads are redacted: a payload hash and its marker. */
const redactionBytes = 33
/** Upper bound of the bytes of a chunk besides its records: the domain word, the signed head and the lengths. */
const envelopeBytes = 1024

/**
 * Whether frames can be transferred as one chunk, whatever is redacted later. A stream that has more since its last
 * checkpoint could never be sent to another node.
 * @param bytes size of the records
 */
export function fitsChunk(events: number, bytes: number): boolean {
  return events <= format.eventsPerChunk && bytes + redactionBytes * events + envelopeBytes <= format.chunkBytes
}
