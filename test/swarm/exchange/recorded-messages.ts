import type { PublicKey } from '../../../src/identity/index.ts'
import type { Hash } from '../../../src/protocol/index.ts'
import type { Message } from '../../../src/sync/index.ts'

const bytes = (length: number, first: number): Buffer =>
  Buffer.from(Array.from({ length }, (_, i) => (first + i) % 256))
const stream = { node: Uint8Array.from(bytes(32, 1)) as PublicKey, number: 300 }

/** One message of each kind, with the name of its recorded bytes in `docs/protocol.md`. */
export const recordedMessages: Readonly<Record<string, Message>> = {
  hello: { is: 'hello', version: 1, features: ['a'], required: [], time: 1_700_000_000_000_000 },
  neighbours: { is: 'neighbours', added: [bytes(32, 7)], removed: [bytes(32, 8), bytes(32, 9)] },
  digest: { is: 'digest', digest: bytes(8, 1), time: 1_700_000_000_000_000 },
  heads: {
    is: 'heads',
    entries: [
      { isFrozen: false, pruned: 5, records: bytes(8, 3), head: bytes(140, 4) },
      { isFrozen: true, stream },
    ],
    answer: [0, 255],
  },
  want: { is: 'want', id: 1, stream, from: 1024, bytes: 4_194_304 },
  chunk: { is: 'chunk', id: 1, more: true, chunk: bytes(20, 5) },
  nothing: { is: 'nothing', id: 1, reason: 'pruned' },
  push: { is: 'push', chunk: bytes(20, 5) },
  'bulk-push': { is: 'bulk-push', chunk: bytes(20, 5) },
  'want-records': { is: 'want-records', id: 2, stream, from: 0, to: 1024 },
  records: {
    is: 'records',
    id: 2,
    stream,
    prune: { record: bytes(10, 6), head: bytes(11, 7) },
    redactions: [bytes(5, 8), bytes(6, 9)],
    next: 7,
  },
  'records without a prune record': {
    is: 'records',
    id: 0,
    stream,
    prune: undefined,
    redactions: [bytes(5, 8)],
    next: undefined,
  },
  'want-evidence': { is: 'want-evidence', id: 3, stream },
  evidence: { is: 'evidence', id: 3, record: bytes(30, 1) },
  locate: { is: 'locate', id: 4, stream, points: [{ count: 1024, hash: bytes(32, 2).toString('latin1') as Hash }] },
  located: { is: 'located', id: 4, count: 1024 },
  stored: { is: 'stored', streams: [{ number: 0, count: 1025 }] },
  ping: { is: 'ping', id: 5 },
  pong: { is: 'pong', id: 5 },
  'want-own': { is: 'want-own' },
  'own-heads': { is: 'own-heads', entries: [{ isFrozen: true, stream }] },
  addresses: { is: 'addresses', nodes: [{ node: bytes(32, 1), addresses: ['/ip4/127.0.0.1/tcp/4001'] }] },
}
