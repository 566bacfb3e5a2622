import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, TestHost } from './hosts.ts'

for (const host of ['127.0.0.1', '::1'])
  test(`two hosts on ${host} connect and exchange messages on all channels`, async (t) => {
    const listen = [{ host, port: 0 }]
    const a = await TestHost.start(t, { listen, agent: 'Node A' })
    const b = await TestHost.start(t, { listen, agent: 'Node B' })
    const [atA, atB] = await a.connect(b)
    assert.equal(atA.session.peer, b.name)
    assert.equal(atB.session.peer, a.name)
    assert.deepEqual([atA.session.direction, atB.session.direction], ['outbound', 'inbound'])
    assert.deepEqual([atA.session.agent, atB.session.agent], ['Node B', 'Node A'])
    assert.equal(atA.session.address, b.address)
    assert.deepEqual(atA.session.listenAddresses, b.host.addresses)
    assert.deepEqual(atB.session.listenAddresses, a.host.addresses)
    for (const channel of ['live', 'sync', 'blocks'] as const) {
      atA.session.send(channel, Buffer.from(`to B on ${channel}`))
      atB.session.send(channel, Buffer.from(`to A on ${channel}`))
    }
    await eventually(() => atA.messages.length === 3 && atB.messages.length === 3)
    for (const [received, name] of [
      [atA, 'A'],
      [atB, 'B'],
    ] as const)
      assert.deepEqual(
        received.messages.map(({ channel, bytes }) => [channel, bytes.toString()]).sort(),
        ['blocks', 'live', 'sync'].map((channel) => [channel, `to ${name} on ${channel}`]),
      )
    assert.deepEqual(
      atA.sent.map(({ bytes }) => bytes),
      [12, 12, 14],
    )
  })

test('a host is told at which address a peer has reached it, and not the address of a dialling socket', async (t) => {
  const observed: string[] = []
  const onObserved = (peer: string, address: string): void => void observed.push(`${peer} ${address}`)
  const a = await TestHost.start(t, { onObserved })
  const b = await TestHost.start(t, { onObserved })
  await a.connect(b)
  assert.deepEqual(observed, [`${a.name} ${b.address}`])
})
