// The importer of the IPFS tools, into memory, in its own process. For every message with a number of bytes it responds
// with the milliseconds that they have taken. It is configured to produce the same blocks as a node.
import assert from 'node:assert/strict'
import { MemoryBlockstore } from 'blockstore-core'
import { importer } from 'ipfs-unixfs-importer'
import { fixedSize } from 'ipfs-unixfs-importer/chunker'
import { balanced } from 'ipfs-unixfs-importer/layout'
import { content } from '../files/client.ts'

const options = {
  cidVersion: 1,
  rawLeaves: false,
  chunker: fixedSize({ chunkSize: 262_144 }),
  layout: balanced({ maxChildrenPerNode: 174 }),
}

async function imported(pieces) {
  let cid
  for await (const entry of importer([{ path: 'file', content: pieces }], new MemoryBlockstore(), options))
    cid = entry.cid
  return String(cid)
}

assert.equal(await imported([new Uint8Array(700_000)]), 'bafybeigrpncecxicgaae6m44ug2x3y7tchw7t3pqtgnxxmp4axggqwkgmy')
process.on('message', async (bytes) => {
  const start = performance.now()
  await imported(content(bytes))
  process.send(performance.now() - start)
})
