import { workerData } from 'node:worker_threads'
import '../../src/swarm/thread/swarm-thread.ts'

/** The swarm thread, which a test can end at any moment. */
const { channel } = workerData as { channel: string }
new BroadcastChannel(channel).onmessage = () => process.exit(1)
