import { systemRuntime } from '../../runtime/system-runtime.ts'
import { sleep } from '../../runtime/timers.ts'
import { type NamedNode, onRunningNode } from '../client/on-node.ts'
import type { Result, Streamed } from '../output/output.ts'
import { ratesBetween } from '../top/rates.ts'
import { screenLines } from '../top/screen.ts'
import { type Snapshot, takeSnapshot } from '../top/snapshot.ts'
import { Terminal } from '../top/terminal.ts'

/** Milliseconds between two snapshots. */
const everyMs = 1000

/** Shows the activity of a node: on a terminal until q or Ctrl+C, otherwise once. */
export async function showTop(named: NamedNode, isJson: boolean): Promise<Result | Streamed> {
  if (process.stdout.isTTY !== true || isJson) return await once(named)
  return { stream: () => onTerminal(named) }
}

async function once(named: NamedNode): Promise<Result> {
  const { timers } = systemRuntime
  const [earlier, later] = await onRunningNode(named, systemRuntime, async (node): Promise<[Snapshot, Snapshot]> => {
    const first = await takeSnapshot(node, systemRuntime)
    await sleep(timers, everyMs)
    return [first, await takeSnapshot(node, systemRuntime)]
  })
  const size = { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY }
  const { atMs: _, ...shown } = later
  return {
    text: () => screenLines(earlier, later, size).join('\n'),
    json: { ...shown, perSecond: ratesBetween(earlier, later) },
  }
}

async function onTerminal(named: NamedNode): Promise<boolean> {
  const { timers } = systemRuntime
  return await onRunningNode(named, systemRuntime, async (node) => {
    let earlier = await takeSnapshot(node, systemRuntime)
    const terminal = new Terminal(process.stdin, process.stdout)
    try {
      terminal.draw(screenLines(earlier, earlier, terminal.size))
      while (!(await Promise.race([terminal.ended.then(() => true), sleep(timers, everyMs).then(() => false)]))) {
        const later = await takeSnapshot(node, systemRuntime)
        terminal.draw(screenLines(earlier, later, terminal.size))
        earlier = later
      }
      return true
    } finally {
      terminal.close()
    }
  })
}
