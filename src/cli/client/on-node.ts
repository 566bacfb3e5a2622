import { join, resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { DataFolder } from '../../store/index.ts'
import { quoted } from '../output/quoted.ts'
import { AdminClient } from './admin-client.ts'
import { KnownNodes } from './known-nodes.ts'
import { type NodeAddress, parseNodeAddress } from './node-address.ts'
import type { NodeClient } from './node-client.ts'
import { NotConnected } from './node-connection.ts'
import { onNodeOrFolder } from './node-or-folder.ts'
import { RetryingClient } from './retrying-client.ts'
import { configFolder, userKey } from './user-files.ts'

/** A node as a command names it. */
export interface NamedNode {
  /** The data folder, unless there is an address. */
  readonly folder: string
  /** The address of the admin port, or another data folder. */
  readonly node?: string | undefined
  /** The key of the user, or its file. */
  readonly identity?: string | undefined
  /** The one-time code for the first user. */
  readonly code?: string | undefined
  readonly timeoutMs?: number
}

/** What a command does with a node, depending on whether it runs. */
export interface NodeHandlers<T> {
  /** While the node runs: through its control socket or its admin port. */
  readonly running: (node: NodeClient) => Promise<T>
  /** On the data folder of a stopped node, which it locks. */
  readonly stopped: (folder: string) => Promise<T>
}

/** Runs a command on the node at an address, on that of a data folder, or on the folder when no node runs. */
export async function onNode<T>(named: NamedNode, runtime: Runtime, handlers: NodeHandlers<T>): Promise<T> {
  const { stopped } = handlers
  const running = (node: NodeClient): Promise<T> => handlers.running(new RetryingClient(node, runtime))
  const address = addressOf(named)
  if (!('folder' in address)) return await withSession(named, runtime, running)
  const { folder } = address
  return await onNodeOrFolder(folder, runtime, { running, stopped: () => stopped(folder) })
}

/** Runs a command on a running node. */
export async function onRunningNode<T>(
  named: NamedNode,
  runtime: Runtime,
  running: (node: NodeClient) => Promise<T>,
): Promise<T> {
  return await onNode(named, runtime, {
    running,
    stopped: async (folder) => {
      // Throws `FolderLocked` for a node that is starting or stopping, which is then waited for.
      DataFolder.open(folder, { create: false }).close()
      const start = `shoal run --working-dir ${quoted(resolve(folder))}`
      throw new NotConnected(`the data directory \`${resolve(folder)}\``, `no node runs. Start it with \`${start}\`.`)
    },
  })
}

/** Signs in to the admin port of a node, and out after the work. */
export async function withSession<T>(
  named: NamedNode,
  { timers }: Runtime,
  work: (node: AdminClient) => Promise<T>,
): Promise<T> {
  const address = addressOf(named)
  if ('folder' in address)
    throw new ShoalError('ERR_INVALID_INPUT', `${address.folder} is a data directory, not the address of a node.`)
  const { code, timeoutMs, identity } = named
  const known = new KnownNodes(join(configFolder(), 'known-nodes'))
  const user = userKey(identity)
  const client = await AdminClient.connect(address, {
    user,
    known,
    timers,
    code,
    ...(timeoutMs !== undefined && { timeoutMs }),
  })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

/** Throws when nodes are named by an address, and the user has no key to sign in with. */
export function requireUserKey(nodes: readonly NamedNode[]): void {
  const first = nodes.find(({ node }) => node !== undefined && !isFolder(node))
  if (first !== undefined) userKey(first.identity)
}

function isFolder(node: string): boolean {
  try {
    return 'folder' in parseNodeAddress(node, DataFolder.exists)
  } catch {
    // A malformed address is reported when the node is asked.
    return true
  }
}

/** The end of a command that names the same node again. */
export function nodeArgument(named: NamedNode): string {
  const address = addressOf(named)
  return 'folder' in address ? `--working-dir ${quoted(resolve(address.folder))}` : quoted(named.node ?? '')
}

/** The data folder of a node that is not named by an address. */
export function folderOfNode(named: NamedNode): string | undefined {
  const address = addressOf(named)
  return 'folder' in address ? address.folder : undefined
}

/** The host in the address of a node; undefined for one that is named by its data folder. */
export function hostOfNode(named: NamedNode): string | undefined {
  const address = addressOf(named)
  return 'folder' in address ? undefined : address.host
}

function addressOf({ folder, node }: NamedNode): NodeAddress {
  return node === undefined ? { folder } : parseNodeAddress(node, DataFolder.exists)
}
