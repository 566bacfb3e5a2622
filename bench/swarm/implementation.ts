import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Machine } from '../../scripts/site/site.ts'
import { SiteNode } from '../../scripts/site/site-node.ts'

/** A node of a pair that is measured. */
export interface RunningNode {
  readonly url: string
  stop(): Promise<void>
}

/** What is measured: how a node of it is started on a machine, in a folder. Nodes find each other by themselves. */
export interface Implementation {
  readonly name: string
  start(machine: Machine, folder: string): Promise<RunningNode>
}

/** Nodes of this package, in a swarm of their own. */
export function shoal(packageFolder: string): Implementation {
  const settings = { '/swarm/swarmKey': randomBytes(32).toString('base64') }
  return {
    name: 'shoal',
    start: (machine, folder) => new SiteNode({ machine, folder, settings, packageFolder }).start(),
  }
}

/** Nodes of another program: `{folder}` in its command is replaced by the data folder. */
export function other(command: string): Implementation {
  return {
    name: 'other',
    start: async (machine, folder) => {
      const words = command.split(' ').map((word) => word.replaceAll('{folder}', join(folder, 'data')))
      const child = spawn('ip', ['netns', 'exec', machine.name, ...words], { stdio: 'ignore' })
      const ended = once(child, 'exit')
      const url = `http://${machine.v4}:4454`
      await untilServing(url, child)
      const stop = async (): Promise<void> => {
        child.kill('SIGTERM')
        await ended
      }
      return { url, stop }
    },
  }
}

async function untilServing(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the other program has ended with ${child.exitCode}`)
    try {
      await fetch(`${url}/api/v2/node/id`)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}
