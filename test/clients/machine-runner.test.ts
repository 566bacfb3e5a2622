import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMachineRunner, MachineEvent, SwarmProtocol } from '@actyx/machine-runner'
import { ClientNode } from './node.ts'
import { connected } from './sdk.ts'

const requested = MachineEvent.design('requested').withPayload<{ from: string; to: string }>()
const bid = MachineEvent.design('bid').withPayload<{ robot: string; delay: number }>()
const selected = MachineEvent.design('selected').withPayload<{ winner: string }>()
const delivered = MachineEvent.design('delivered').withPayload<{ by: string }>()
const protocol = SwarmProtocol.make('transport', [requested, bid, selected, delivered] as const)

const warehouse = protocol.makeMachine('warehouse')
const Idle = warehouse
  .designEmpty('Idle')
  .command('request', [requested], (_, from: string, to: string) => [{ from, to }])
  .finish()
const Choosing = warehouse
  .designState('Choosing')
  .withPayload<{ bids: { robot: string; delay: number }[] }>()
  .command('select', [selected], (_, winner: string) => [{ winner }])
  .finish()
const Waiting = warehouse.designState('Waiting').withPayload<{ winner: string }>().finish()
const Served = warehouse.designState('Served').withPayload<{ by: string }>().finish()
Idle.react([requested], Choosing, () => ({ bids: [] }))
Choosing.react([bid], Choosing, ({ self }, { payload }) => ({ bids: [...self.bids, payload] }))
Choosing.react([selected], Waiting, (_, { payload }) => ({ winner: payload.winner }))
Waiting.react([delivered], Served, (_, { payload }) => ({ by: payload.by }))

const robot = protocol.makeMachine('robot')
const Free = robot.designState('Free').withPayload<{ robot: string }>().finish()
const Auction = robot
  .designState('Auction')
  .withPayload<{ robot: string; hasBid: boolean }>()
  .command('bid', [bid], ({ self }, delay: number) => [{ robot: self.robot, delay }])
  .finish()
const Chosen = robot
  .designState('Chosen')
  .withPayload<{ robot: string; winner: string }>()
  .command('deliver', [delivered], ({ self }) => [{ by: self.robot }])
  .finish()
const Over = robot.designState('Over').withPayload<{ robot: string; by: string }>().finish()
Free.react([requested], Auction, ({ self }) => ({ ...self, hasBid: false }))
Auction.react([bid], Auction, ({ self }, { payload }) => ({
  ...self,
  hasBid: self.hasBid || payload.robot === self.robot,
}))
Auction.react([selected], Chosen, ({ self }, { payload }) => ({ robot: self.robot, winner: payload.winner }))
Chosen.react([delivered], Over, ({ self }, { payload }) => ({ robot: self.robot, by: payload.by }))

type Sdk = Awaited<ReturnType<typeof connected>>
const tags = protocol.tagWithEntityId('order-1')

/** The robot with the lowest bid wins. */
async function runWarehouse(sdk: Sdk, robots: number): Promise<{ states: string[]; servedBy: string }> {
  const states: string[] = []
  for await (const state of createMachineRunner(sdk, tags, Idle, undefined)) {
    const [idle, choosing, served] = [state.as(Idle), state.as(Choosing), state.as(Served)]
    if (states.at(-1) !== state.type) states.push(state.type)
    if (idle) await idle.commands()?.request('here', 'there')
    if (choosing && choosing.payload.bids.length === robots) {
      const [best] = [...choosing.payload.bids].sort((a, b) => a.delay - b.delay)
      await choosing.commands()?.select(best?.robot ?? '')
    }
    if (served) return { states, servedBy: served.payload.by }
  }
  throw new Error(`it ended with ${states}`)
}

async function runRobot(sdk: Sdk, name: string, delay: number): Promise<{ states: string[]; by: string }> {
  const states: string[] = []
  for await (const state of createMachineRunner(sdk, tags, Free, { robot: name })) {
    const [auction, chosen, over] = [state.as(Auction), state.as(Chosen), state.as(Over)]
    if (states.at(-1) !== state.type) states.push(state.type)
    if (auction && !auction.payload.hasBid) await auction.commands()?.bid(delay)
    if (chosen && chosen.payload.winner === name) await chosen.commands()?.deliver()
    if (over) return { states, by: over.payload.by }
  }
  throw new Error(`it ended with ${states}`)
}

test('machines of two roles run a protocol to its end and agree on the outcome', async (t) => {
  const node = await ClientNode.start(t)
  const [shop, fast, slow] = [await connected(t, node), await connected(t, node), await connected(t, node)]
  const [served, ...robots] = await Promise.all([
    runWarehouse(shop, 2),
    runRobot(slow, 'slow', 10),
    runRobot(fast, 'fast', 1),
  ])
  assert.equal(served.servedBy, 'fast')
  assert.deepEqual(served.states, ['Idle', 'Choosing', 'Waiting', 'Served'])
  for (const { states, by } of robots) {
    assert.equal(by, 'fast')
    assert.deepEqual(states.slice(-3), ['Auction', 'Chosen', 'Over'])
  }
  const { events } = await shop.queryAllKnown({ query: tags })
  const types = events.map(({ payload }) => (payload as { type: string }).type)
  assert.deepEqual(types, ['requested', 'bid', 'bid', 'selected', 'delivered'])
})

test('a machine that starts after the end of a protocol reaches the same final state', async (t) => {
  const node = await ClientNode.start(t)
  const sdk = await connected(t, node)
  await Promise.all([runWarehouse(sdk, 1), runRobot(sdk, 'only', 1)])
  await node.stop('SIGTERM')
  await node.startAgain()
  const later = await connected(t, node)
  const late = createMachineRunner(later, tags, Free, { robot: 'late' })
  const { value } = await late.next()
  assert.equal(value?.as(Over)?.payload.by, 'only')
  late.destroy()
})
