import { limits } from '../../../src/base/limits.ts'
import { lengthPrefix } from '../../../src/swarm/host/frames.ts'
import { yamuxHeader } from '../../swarm/host/raw-peer.ts'
import { eventually } from '../swarm-of.ts'
import { WirePeer } from '../wire-peer.ts'
import { type RawSession, rawSession } from './raw-session.ts'
import { type Attack, assertDropped, assertKeptOut } from './victim.ts'

const piece = Buffer.alloc(64 * 1024)

/** Says that a message has a gigabyte. */
const hugeMessage: Attack = async (victim) => {
  const { streams, nodeId } = await rawSession(victim)
  streams.sync.send(Buffer.from('8080808004', 'hex'))
  await assertDropped(victim, nodeId, /malformed message on the sync stream/)
  await assertKeptOut(victim, nodeId, 'malformedMessage')
}

/** Says that a frame of yamux has a gigabyte, and sends it. */
const hugeFrame: Attack = async (victim) => {
  const { below, nodeId } = await rawSession(victim)
  below.send(yamuxHeader(0, 0, 1, 2 ** 30))
  for (let i = 0; i < 512 && below.status === 'open'; i++) {
    below.send(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await assertDropped(victim, nodeId, /malformed frame of the connection/)
  await assertKeptOut(victim, nodeId, 'malformedMessage')
}

/** Opens ten thousand streams. */
const manyStreams: Attack = async (victim) => {
  const { below, nodeId } = await rawSession(victim)
  for (let i = 0; i < 10_000 && below.status === 'open'; i++) {
    below.send(yamuxHeader(1, 1, 2 * i + 101, 0))
    if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await assertDropped(victim, nodeId, /malformed frame of the connection/)
  await assertKeptOut(victim, nodeId, 'malformedMessage')
}

/** Sends the largest messages on several connections at once, and completes none of them. */
const endlessFrames: Attack = async (victim) => {
  const sessions = await Promise.all([rawSession(victim), rawSession(victim)])
  await Promise.all(sessions.map(floodSync))
  const dropped = () => sessions.find(({ nodeId }) => victim.node.log.includes(`disconnected from ${nodeId}`))
  const first = await eventually(dropped, () => 'no session is dropped')
  await assertDropped(victim, first.nodeId, /incomplete messages take too much memory/)
  for (const { connection } of sessions) connection.abort(new Error('the attack is over'))
}

async function floodSync({ streams: { sync } }: RawSession): Promise<void> {
  const isOpen = (): boolean => sync.status === 'open'
  sync.send(lengthPrefix(limits.syncMessageBytes))
  for (let sent = piece.length; sent < limits.syncMessageBytes && isOpen(); sent += piece.length) {
    sync.send(piece)
    while (sync.writeBufferLength > 0 && isOpen()) await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Never says hello. */
const mute: Attack = async (victim) => {
  const peer = await WirePeer.connect(victim.t, victim.node)
  await assertDropped(victim, peer.nodeId, /nothing was heard for too long/)
}

/** Begins a message and never completes it, but answers pings. */
const unfinishedMessage: Attack = async (victim) => {
  const { streams, nodeId } = await rawSession(victim)
  streams.blocks.send(Buffer.concat([Buffer.from('808008', 'hex'), Buffer.alloc(1000)]))
  const beat = setInterval(() => {
    if (streams.live.status === 'open') streams.live.send(Buffer.from('021105', 'hex'))
  }, 5000)
  try {
    const line = () => (victim.node.log.includes(`disconnected from ${nodeId}`) ? true : undefined)
    await eventually(line, () => 'the session stays open', 2 * limits.incompleteMessageMs)
  } finally {
    clearInterval(beat)
  }
  await assertDropped(victim, nodeId, /not completed in time/)
}

/** Asks for much, and reads nothing of it. */
const unreadAnswers: Attack = async (victim) => {
  const peer = await WirePeer.greet(victim.t, victim.node)
  peer.pause(true)
  const digests = Buffer.alloc(256 * 8, 1)
  for (let i = 0; i < 2000; i++) peer.send({ is: 'buckets', digests })
  const line = () => (victim.node.log.includes(`disconnected from ${peer.nodeId}`) ? true : undefined)
  await eventually(line, () => 'the session stays open', 2 * limits.stalledMs)
  await assertDropped(victim, peer.nodeId, /too slow|nothing was heard/)
}

export const frameAttacks = { hugeMessage, hugeFrame, manyStreams } as const satisfies Record<string, Attack>

/** Attacks that send much. */
export const frameFloods = { endlessFrames } as const satisfies Record<string, Attack>

/** Attacks that last as long as the victim waits. */
export const stalls = { mute, unfinishedMessage, unreadAnswers } as const satisfies Record<string, Attack>
