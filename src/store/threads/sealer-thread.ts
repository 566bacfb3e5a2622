import { type MessagePort, workerData } from 'node:worker_threads'
import { openForReading } from '../log/database.ts'
import { buildSeal, type Sealed, type SealPlan } from '../log/sealing.ts'
import { type ErrorMessage, toMessage } from './messages.ts'

export interface SealerData {
  readonly file: string
  /** To the writer, which says what to seal and puts it in its place. */
  readonly port: MessagePort
}

export type ToSealer = SealPlan
export type FromSealer = { readonly sealed: Sealed } | { readonly error: ErrorMessage }

/** The thread that merges and compresses: it reads beside the writer, which only has to put the result in its place. */
const { file, port } = workerData as SealerData
const database = openForReading(file)
port.on('message', (plan: ToSealer) => {
  try {
    port.postMessage({ sealed: buildSeal(database, plan) } satisfies FromSealer)
  } catch (error) {
    port.postMessage({ error: toMessage(error) } satisfies FromSealer)
  }
})
port.on('close', () => database.close())
