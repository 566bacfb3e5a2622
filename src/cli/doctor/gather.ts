import { resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import type { Endpoints } from '../../node/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { DataFolder, FolderLocked } from '../../store/index.ts'
import { folderOfNode, hostOfNode, type NamedNode, nodeArgument, onNode } from '../client/on-node.ts'
import type { Facts } from './facts.ts'
import { folderFacts, portFacts, storedSettings } from './gather-folder.ts'
import { runningFacts } from './gather-node.ts'
import { dialledInitialPeers } from './gather-peers.ts'
import type { Target } from './target.ts'

/** Collects the facts about a node, running or stopped. `endpoints` are those at which a stopped one would listen. */
export async function gatherFacts(named: NamedNode, endpoints: Endpoints, runtime: Runtime): Promise<Facts> {
  const target = targetOf(named)
  const local = folderOfNode(named)
  const folder = () => (local !== undefined && DataFolder.exists(local) ? folderFacts(local) : undefined)
  try {
    return await onNode(named, runtime, {
      running: async (node) => ({ target, folder: folder(), ...(await runningFacts(node, runtime)) }),
      stopped: (path) => stoppedFacts(path, target, endpoints, runtime),
    })
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    return { target, reach: { is: 'failed', code: error.code, message: error.message }, folder: folder() }
  }
}

async function stoppedFacts(path: string, target: Target, endpoints: Endpoints, { timers }: Runtime): Promise<Facts> {
  const seen = folderFacts(path)
  // `onNode` retries after this error: the node is starting or stopping.
  if (seen.lock.is === 'held') throw new FolderLocked(seen.path, seen.lock.pid)
  const { settings, folder } = await storedSettings(seen)
  return {
    target,
    reach: { is: 'stopped' },
    folder,
    settings,
    ports: await portFacts(endpoints, timers),
    peers: settings === undefined ? [] : await dialledInitialPeers(settings, timers),
  }
}

function targetOf(named: NamedNode): Target {
  const [argument, folder] = [nodeArgument(named), folderOfNode(named)]
  if (folder !== undefined) return { is: 'folder', folder: resolve(folder), argument }
  return { is: 'address', host: hostOfNode(named) ?? '', argument }
}
