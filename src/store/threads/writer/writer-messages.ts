import type { MessagePort } from 'node:worker_threads'
import type { BackgroundNotice } from '../../disk/background.ts'
import type { DiskNotice, DiskWork } from '../../disk/disk-notice.ts'
import type { ReaderLink } from '../reader/reader-link.ts'
import type { ErrorMessage } from '../thread-messages.ts'
import type { CommitLink } from './commit-link.ts'

export interface WriterData {
  readonly file: string
  readonly topic: string
  readonly kind: 'live' | 'imported'
  readonly privateKey: string
  readonly counts: SharedArrayBuffer
  /** To the sealer thread. */
  readonly sealer: MessagePort
  /** A gate that is opened when the sealer thread has ended. */
  readonly sealerEnded: SharedArrayBuffer
  /** The signal that is raised for every message to this thread. */
  readonly posts: SharedArrayBuffer
}

/** The methods of the writer besides appending. Received chunks are stored when no append waits. */
export type WriterCall =
  | 'import'
  | 'receiveVerified'
  | 'prune'
  | 'applyPrune'
  | 'redact'
  | 'applyRedactions'
  | 'evidence'
  | 'applyEvidence'
  | 'forgetStream'
  | 'head'
  | 'ownHeads'
  | 'headOf'
  | 'records'
  | 'startMarks'
  | 'markAnnounced'
  | 'settleOwnStreams'
  | 'clockRecord'
  | 'saveClockRecord'
  | 'dropIndexAt'
  | 'sealAll'
  | 'truncateWal'
  | 'probe'
  | 'close'

export interface CallMessage {
  readonly id: number
  readonly call: WriterCall
  readonly args: readonly unknown[]
}

/** A message of any thread to the writer: a call, or the link to its listener to commits. */
export type CallerMessage = CallMessage | { readonly commits: CommitLink | undefined }

/**
 * A message of the main thread to the writer: also the link to a new reader thread, the port of another thread that may
 * call (`LogLink`), or an append request by `packRequest`.
 */
export type ToWriter =
  | CallerMessage
  | { readonly reader: number; readonly link: ReaderLink }
  | { readonly caller: MessagePort }
  | ArrayBuffer

/** Whether a message has chunks of other nodes. */
export function isReceive(message: ToWriter | undefined): message is CallMessage {
  return message !== undefined && 'call' in message && message.call === 'receiveVerified'
}

/** The calls of threads other than the main thread: what replication needs. */
export const linkedCalls: ReadonlySet<WriterCall> = new Set([
  'receiveVerified',
  'applyPrune',
  'applyRedactions',
  'evidence',
  'applyEvidence',
  'head',
  'ownHeads',
  'headOf',
  'records',
  'markAnnounced',
])

/** A thread that calls the writer. */
export interface Caller {
  reply(results: readonly CallResult[]): void
}

export interface CallResult {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

/** A message of the writer: the results of a commit by `packAppended`, of calls, or a notice. */
export type FromWriter =
  | Float64Array
  | readonly CallResult[]
  | { readonly disk: DiskNotice }
  | { readonly background: BackgroundNotice }

/** The kind of disk work of each call that writes. */
export const diskWork: Readonly<Partial<Record<WriterCall, DiskWork>>> = {
  import: 'receive',
  prune: 'prune',
  applyPrune: 'prune',
  redact: 'redact',
  applyRedactions: 'redact',
  applyEvidence: 'receive',
  forgetStream: 'prune',
  markAnnounced: 'publish',
  settleOwnStreams: 'publish',
  saveClockRecord: 'prune',
  dropIndexAt: 'index',
  sealAll: 'seal',
  truncateWal: 'checkpoint',
}
