import { parentPort, workerData } from 'node:worker_threads'
import { KnownNodes } from '../../src/cli/client/known-nodes.ts'
import type { NodeId } from '../../src/identity/index.ts'

/** Adds nodes to the file of known ones, as a command does. */
const { file, node, host, count } = workerData as { file: string; node: NodeId; host: string; count: number }

parentPort?.once('message', () => {
  const known = new KnownNodes(file)
  for (let i = 0; i < count; i++) known.add(`${host}${i}:4458`, node)
})
