import { workerData } from 'node:worker_threads'
import { SharedCounts } from '../../../src/store/sqlite/index.ts'
import { Commits } from './commits.ts'

/** Publishes commits as fast as it can. */
const { memory, commits } = workerData as { memory: SharedArrayBuffer; commits: number }
const counts = new SharedCounts(memory)
const source = new Commits()
for (let i = 0; i < commits; i++) counts.publish(source.next())
