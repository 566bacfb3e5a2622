import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { killWhileCatchingUp, publishMany } from './catching-up.ts'
import { nameContent, readable, upload } from './files.ts'
import { addressOf, newSwarmKey, ownSwarm, TestSite, untilConnected, untilSame } from './swarm-of.ts'

test('the life of a swarm that is found by one address', async (t) => {
  const machines = new TestSite(t, 3)
  const swarmKey = newSwarmKey()
  // Silence is noticed after 20 s and three pings.
  const settings = (...peers: string[]) => ({ ...ownSwarm(peers, swarmKey), '/swarm/pingTimeout': 1 })
  const common = await machines.node(0, { settings: settings() }).start()
  await common.publish('before')
  const others = [1, 2].map((machine) => machines.node(machine, { settings: settings(addressOf(common)) }))
  const [a, b] = (await Promise.all(others.map((node) => node.start()))) as [(typeof others)[0], (typeof others)[0]]

  await machines.part('nodes find each other by initialPeers without mDNS', async () => {
    await a.publish('after')
    await untilSame([common, a, b], 2)
  })

  await machines.part('a common peer introduces two others', async () => {
    for (const node of [common, a, b]) await untilConnected(node, 2)
  })

  await machines.part('J7: commands show that nodes which know only a helper are connected directly', async () => {
    const journey = new Journey(t)
    const { peerId } = await journey.result('nodes', 'inspect', b.folder)
    const { v4, v6 } = b.machine
    const direct = new RegExp(`│ ${peerId} +│ /(ip4/${v4}|ip6/${v6})/`)
    assert.match(await journey.text('nodes', 'inspect', a.folder), direct)
  })

  // The silence of this node is noticed while the next part runs.
  machines.site.setLink(b.machine, false)

  const content = randomBytes(2_000_000)
  const page = '<p>hello</p>'
  const names = { file: '', page: 'panel/index.html' }
  await machines.part('a file and a website are fetched without being asked for', async () => {
    names.file = await upload(common, { 'content.bin': content })
    await nameContent(common, 'panel', await upload(common, { 'index.html': page, 'other.txt': 'text' }))
    assert.equal(String(await readable(a, names.page)), page)
    assert.deepEqual(await readable(a, names.file), content)
  })

  await machines.part(
    'a link that goes down is noticed, and what happened meanwhile arrives when it is up again',
    async () => {
      await a.publish('while the link was down')
      await common.stop()
      await untilConnected(a, 0)
      machines.site.setLink(b.machine, true)
      await untilSame([a, b], 3)
    },
  )

  await machines.part(
    'a file and a website are read where they arrived after the node of the upload was gone',
    async () => {
      assert.deepEqual(await readable(b, names.file), content)
      assert.equal(String(await readable(b, names.page)), page)
    },
  )

  await machines.part('a node that is killed while it catches up has all events in the end', async () => {
    const fresh = machines.node(0, { settings: settings(addressOf(a)) })
    await publishMany(a, 20_000)
    await killWhileCatchingUp(fresh, a, { kills: 1, count: 20_003 })
  })
})
