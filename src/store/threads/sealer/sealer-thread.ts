import type { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { lowerPriority, priorities } from '../../../runtime/thread-priority.ts'
import {
  buildMerge,
  buildSeal,
  type Merged,
  type MergePlan,
  openForReading,
  releaseSealed,
  type Sealed,
  type SealPlan,
} from '../../sqlite/index.ts'
import { type ErrorMessage, open, toMessage } from '../thread-messages.ts'
import { ringBell } from '../writer/mailbox.ts'

export interface SealerData {
  readonly file: string
  /** Beside which the writer may wait for what is sealed. */
  readonly mailbox: SharedArrayBuffer
}

/** What the sealer gets once it is open: a thread that could not be started would take the port with it. */
export interface SealerStart {
  /** To the writer, which says what to seal and puts it in its place. */
  readonly port: MessagePort
  /** What it was started for. */
  readonly first: ToSealer
}

export type ToSealer = { readonly seal: SealPlan } | { readonly merge: MergePlan }
export type FromSealer =
  | { readonly sealed: Sealed }
  | { readonly merged: Merged }
  | { readonly error: ErrorMessage; readonly task: ToSealer }

/** The thread that merges and compresses: it reads beside the writer, which only has to put the result in its place. */
const { file, mailbox } = workerData as SealerData
const parent = parentPort
assert(parent !== null, 'the sealer runs in a thread of its own')
open(parent, () => {
  lowerPriority(priorities.sealing)
  const database = openForReading(file)
  parent.once('message', ({ port, first }: SealerStart) => {
    const work = (task: ToSealer): void => {
      const answer = answerTo(database, task)
      port.postMessage(answer)
      ringBell(mailbox)
      if ('sealed' in answer) releaseSealed(answer.sealed)
    }
    work(first)
    port.on('message', work)
    port.on('close', () => database.close())
  })
})

function answerTo(database: DatabaseSync, message: ToSealer): FromSealer {
  try {
    if ('seal' in message) return { sealed: buildSeal(database, message.seal) }
    assert('merge' in message, 'the sealer is given chunks to seal, or ranges to merge')
    return { merged: buildMerge(database, message.merge) }
  } catch (error) {
    return { error: toMessage(error), task: message }
  }
}
