import assert from 'node:assert/strict'
import type { Swarm } from '../swarm.ts'
import type { WholeNode } from '../whole-node.ts'

/** The blocks that nodes want and others have. */
export function blocksToFetch({ nodes }: Swarm): string[] {
  return nodes.flatMap((node) =>
    wantedBy(node)
      .filter((cid) => nodes.some(({ files }) => files.blocks.store.has(cid)))
      .map((cid) => `${node.label} ${Buffer.from(cid).toString('hex')}`),
  )
}

/** The blocks that no node has any more, although some want them. */
export function areBlocksLost({ nodes }: Swarm): boolean {
  return nodes.some((node) => wantedBy(node).length > 0)
}

function wantedBy({ files }: WholeNode): Uint8Array[] {
  return files.blocks.store.wanted(Number.POSITIVE_INFINITY).map(({ cid }) => cid)
}

/** Every node has every file that is kept, unless the node that has uploaded it has left. */
export function checkFiles({ nodes, uploads }: Swarm): void {
  for (const { label, files } of nodes)
    for (const { node, cid, blocks } of uploads) {
      if (!nodes.includes(node) || !files.pinned.has(cid)) continue
      for (const block of blocks) {
        const stored = files.blocks.store.get(block.cid.bytes)
        assert.ok(stored !== undefined, `${label} lacks a block of a file of ${node.label}`)
        assert.ok(Buffer.compare(stored, block.bytes) === 0, `${label} has other bytes of a file of ${node.label}`)
      }
    }
}
