import { parentPort } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { messageOf } from '../../base/errors.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { SwarmPart } from './swarm-part.ts'
import type { FromSwarm, ToSwarm } from './thread-messages.ts'

/** The thread of the swarm: the libp2p host, and replication over its connections. */
const port = parentPort
assert(port !== null, 'the swarm runs in its own thread')
const post = (message: FromSwarm): void => port.postMessage(message)
let swarm: Promise<SwarmPart> | undefined

port.on('message', (message: ToSwarm) => {
  if (message.do === 'start') {
    assert(swarm === undefined, 'the swarm is started once')
    swarm = SwarmPart.start(message.start, systemRuntime, post)
    swarm.then(
      () => post({ is: 'started' }),
      (error: unknown) => post({ is: 'start-failed', reason: messageOf(error) }),
    )
  } else if (message.do === 'stop') void stop()
  // A failed start was reported. An error of a message is a defect, which ends the thread, and another one is started.
  else
    void swarm?.then(
      (part) => part.take(message),
      () => {},
    )
})

post({ is: 'loaded' })

async function stop(): Promise<void> {
  // A start that has failed has cleaned up.
  await swarm?.then((part) => part.stop()).catch(() => {})
  post({ is: 'stopped' })
  port?.close()
}
