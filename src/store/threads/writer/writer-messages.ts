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
  | 'dropIndexAt'
  | 'sealAll'
  | 'truncateWal'
  | 'probe'
  | 'close'

/**
 * A message to the writer: a call, the link to a new reader thread, the link to the listener to commits, or an append
 * request by `packRequest`.
 */
export type ToWriter =
  | { readonly id: number; readonly call: WriterCall; readonly args: readonly unknown[] }
  | { readonly reader: number; readonly link: ReaderLink }
  | { readonly commits: CommitLink | undefined }
  | ArrayBuffer

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
  dropIndexAt: 'index',
  sealAll: 'seal',
  truncateWal: 'checkpoint',
}
