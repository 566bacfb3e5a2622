import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { LinkedBlocks } from '../../src/store/linked/index.ts'

/** A block as another node sends it. */
export interface SentBlock {
  readonly cid: Uint8Array
  readonly bytes: Uint8Array
}

/** A thread that receives blocks of other nodes through a link, and reports each result. */
const { port } = workerData as { readonly port: MessagePort }
const blocks = new LinkedBlocks(port, { onNotice: () => {}, onEnd: () => {} })
parentPort?.on('message', async ({ cid, bytes }: SentBlock) => {
  const { outcome } = await blocks.receive(cid, bytes)
  parentPort?.postMessage(outcome)
})
