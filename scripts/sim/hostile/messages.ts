import type { Behaviour } from './hostile-node.ts'

/** Sends old heads and chunks again, in any order. */
export const replays: Behaviour = {
  act: (node, peer) => {
    const shuffled = node.heads.map((entry) => ({ entry, at: node.random.next() })).sort((a, b) => a.at - b.at)
    node.send(peer, { is: 'heads', entries: shuffled.map(({ entry }) => entry), answer: [] })
    const chunk = node.anyChunk()
    if (chunk !== undefined) node.send(peer, { is: 'push', chunk })
  },
  answer: (node, peer, { id }) => node.send(peer, { is: 'nothing', id, reason: 'notHere' }),
}

/** Never says hello. */
export const mute: Behaviour = { isMute: true }

/** Requires what no honest node can do. */
export const unknownFeatures: Behaviour = { required: ['time-machine'] }

/** Claims to have what honest nodes have, and never answers a request. */
export const silence: Behaviour = {
  act: (node, peer) => {
    if (node.heads.length > 0) node.send(peer, { is: 'heads', entries: node.heads, answer: [] })
  },
  answer: () => {},
}

/** Requests more than anyone may. */
export const endlessRequests: Behaviour = {
  act: (node, peer) => {
    const { random } = node
    const victim = Buffer.from(node.swarm.any(random).name, 'latin1') as never
    const streamOf = (number: number) => ({ node: random.chance(0.5) ? victim : node.key.publicKey, number })
    for (let i = 0; i < 40; i++)
      node.send(peer, {
        is: 'want',
        id: node.nextWant(),
        stream: streamOf(i),
        from: random.below(random.chance(0.5) ? 20 : 2 ** 40),
        bytes: 2 ** 40,
      })
    const points = [1, 2, 3, 100].map((count) => ({ count, hash: '\0'.repeat(32) as never }))
    for (const number of [0, 1])
      node.send(peer, { is: 'locate', id: node.nextWant(), stream: streamOf(number), points })
    for (let i = 0; i < 5; i++) node.send(peer, { is: 'digest', digest: Buffer.alloc(8, i), time: 2 ** 52 })
  },
}

/** Sends bytes that are no messages, and messages in the wrong order. */
export const garbage: Behaviour = {
  act: (node, peer) => {
    const length = 1 + node.random.below(300)
    node.sendBytes(peer, Buffer.from(Array.from({ length }, () => node.random.below(256))))
    if (node.random.chance(0.3))
      node.send(peer, { is: 'addresses', nodes: [{ node: node.key.publicKey, addresses: ['/ip4/192.0.2.1/tcp/1'] }] })
    if (node.random.chance(0.3)) node.send(peer, { is: 'own-heads', entries: node.heads.slice(0, 10) })
    if (node.random.chance(0.3)) node.send(peer, { is: 'nothing', id: 1 + node.random.below(50), reason: 'notABorder' })
    if (node.random.chance(0.3))
      node.send(peer, { is: 'chunk', id: node.random.below(50), more: true, chunk: Buffer.from('no') })
  },
}
