import type { DatabaseSync } from 'node:sqlite'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import {
  type BuiltTimes,
  buildMerge,
  buildSeal,
  buildTimes,
  type Merged,
  type MergePlan,
  openForReading,
  releaseSealed,
  type Sealed,
  type SealPlan,
  type TimesPlan,
} from '../../sqlite/index.ts'
import { PostSignal } from '../post-signal.ts'
import { type ErrorMessage, openAndReport, toMessage } from '../thread-messages.ts'

export interface SealerData {
  readonly file: string
  /** The signal that is raised for every message to the writer. */
  readonly posts: SharedArrayBuffer
}

/** The first message to the sealer. Sent once it is open: a thread that fails to start would take the port with it. */
export interface SealerStart {
  /** To the writer, which gives the tasks and applies the results. */
  readonly port: MessagePort
  readonly first: ToSealer
}

export type ToSealer = { readonly seal: SealPlan } | { readonly merge: MergePlan } | { readonly times: TimesPlan }
export type FromSealer =
  | { readonly sealed: Sealed }
  | { readonly merged: Merged }
  | { readonly timesBuilt: BuiltTimes }
  | { readonly error: ErrorMessage; readonly task: ToSealer }

/** The thread that builds segments and merges index ranges from its own read connection; the writer only applies them. */
const { file, posts } = workerData as SealerData
const parent = parentPort
assert(parent !== null, 'the sealer runs in its own thread')
openAndReport(parent, () => {
  const database = openForReading(file)
  const signal = new PostSignal(posts)
  const start = ({ port, first }: SealerStart): void => {
    const work = (task: ToSealer): void => {
      const result = resultOf(database, task)
      port.postMessage(result)
      signal.raise()
      if ('sealed' in result) releaseSealed(result.sealed)
    }
    work(first)
    port.on('message', work)
    // With it, the thread has nothing left to wait for.
    parent.once('close', () => port.close())
  }
  parent.on('message', (message: SealerStart | 'close') => {
    if (message !== 'close') start(message)
    else {
      database.close()
      parent.close()
    }
  })
})

function resultOf(database: DatabaseSync, message: ToSealer): FromSealer {
  try {
    if ('seal' in message) return { sealed: buildSeal(database, message.seal) }
    if ('merge' in message) return { merged: buildMerge(database, message.merge) }
    assert('times' in message, 'a task is to seal chunks, to merge ranges or to read times')
    return { timesBuilt: buildTimes(database, message.times) }
  } catch (error) {
    return { error: toMessage(error), task: message }
  }
}
