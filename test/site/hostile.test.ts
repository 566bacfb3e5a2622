import { test } from 'node:test'
import { chunkAttacks } from './hostile/chunks.ts'
import { frameAttacks, stalls } from './hostile/frames.ts'
import { attack } from './hostile/hostile-run.ts'
import { messageAttacks } from './hostile/messages.ts'

test('a hostile peer that knows the swarm key', async (t) => {
  const { mute } = stalls
  await attack(t, { attacks: { ...chunkAttacks, ...messageAttacks, ...frameAttacks }, stalls: { mute } })
})
