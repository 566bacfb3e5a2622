import type { Behaviour, HostileNode } from './hostile-node.ts'

/** The first bytes of the identifier of a block: version 1, dag-pb, SHA-256 with 32 bytes. */
const cidPrefix = Buffer.of(0x01, 0x70, 0x12, 0x20)

/** Answers requests for blocks with other bytes. */
export const wrongBlocks: Behaviour = {
  answerBlocks: (node, peer, message) => {
    if (message.is !== 'wantBlocks') return
    for (const cid of message.cids)
      if (node.random.chance(0.5)) node.sendBlocks(peer, { is: 'block', cid, bytes: anyBytes(node, 100) })
      else node.sendBlocks(peer, { is: 'blocksNotHere', cids: [cid] })
  },
}

/** Says that it has blocks, and never sends one. */
export const silentBlocks: Behaviour = {
  act: (node, peer) => {
    if (node.cids.length > 0) node.sendBlocks(peer, { is: 'haveBlocks', cids: node.cids })
  },
  answerBlocks: (node, peer, message) => {
    if (message.is === 'wantBlocks' && node.random.chance(0.3))
      node.sendBlocks(peer, { is: 'blocksNotHere', cids: message.cids })
  },
}

/** Asks for more blocks than anyone may, and sends what was not asked for. */
export const blockFloods: Behaviour = {
  act: (node, peer) => {
    const { random } = node
    const cids = Array.from({ length: random.chance(0.5) ? 200 : 30 }, () => anyCid(node))
    if (random.chance(0.5)) node.sendBlocks(peer, { is: 'wantBlocks', cids: [...node.cids, ...cids].slice(0, 200) })
    if (random.chance(0.3)) node.sendBlocks(peer, { is: 'cancelBlocks', cids })
    if (random.chance(0.3)) node.sendBlocks(peer, { is: 'haveBlocks', cids })
    if (random.chance(0.3)) node.sendBlocks(peer, { is: 'blocksNotHere', cids })
    if (random.chance(0.3)) node.sendBlocks(peer, { is: 'block', cid: anyCid(node), bytes: anyBytes(node, 1000) })
    // Bytes that are no message: a list that is too long, an empty identifier, an unknown kind.
    if (random.chance(0.1)) node.sendBytes(peer, Buffer.from([32 + random.below(8), ...anyBytes(node, 20)]))
  },
}

function anyCid(node: HostileNode): Uint8Array {
  return Buffer.concat([cidPrefix, Buffer.from(Array.from({ length: 32 }, () => node.random.below(256)))])
}

function anyBytes({ random }: HostileNode, most: number): Buffer {
  return Buffer.from(Array.from({ length: random.below(most) }, () => random.below(256)))
}
