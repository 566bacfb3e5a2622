import { test } from 'node:test'
import { chunkAttacks } from '../hostile/chunks.ts'
import { frameAttacks, frameFloods, stalls } from '../hostile/frames.ts'
import { attack } from '../hostile/hostile-run.ts'
import { messageAttacks, messageFloods } from '../hostile/messages.ts'

test('hostile peers that know the swarm key, again and again, and until time-outs', async (t) => {
  const once = { ...chunkAttacks, ...messageAttacks, ...frameAttacks, ...messageFloods, ...frameFloods }
  const thrice = [1, 2, 3].flatMap((round) =>
    Object.entries(once).map(([name, work]) => [`${name}, round ${round}`, work] as const),
  )
  await attack(t, { attacks: Object.fromEntries(thrice), stalls })
})
