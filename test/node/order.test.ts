import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lines } from '../support/lines.ts'
import { json, startNode, type TestNode } from '../support/node.ts'

interface Message {
  readonly type: string
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly tags?: readonly string[]
}

/** The messages of a monotonic subscription to all events, up to the one with the tag `end`. */
async function follow({ call }: TestNode): Promise<Message[]> {
  const body = JSON.stringify({ session: 'x', query: 'FROM allEvents', lowerBound: {} })
  const lines = new Lines(await call('/api/v2/events/subscribe_monotonic', { method: 'POST', body, headers: json }))
  const messages: Message[] = []
  for (;;) {
    const line = await lines.next()
    if (line === '') continue
    const message = JSON.parse(line) as Message
    messages.push(message)
    if (message.type === 'timeTravel' || message.tags?.includes('end') === true) break
  }
  await lines.cancel()
  return messages
}

/** Publishes one event per tag in one request. */
async function publish({ call }: TestNode, tags: readonly string[]): Promise<void> {
  const body = JSON.stringify({ data: tags.map((tag) => ({ tags: [tag], payload: null })) })
  const response = await call('/api/v2/events/publish', { method: 'POST', body, headers: json })
  assert.equal(response.status, 200)
  await response.arrayBuffer()
}

/** Checks for one event per lamport timestamp, in order: those of a single node have no gaps. */
function assertComplete(messages: readonly Message[]): void {
  assert.deepEqual(
    messages.filter(({ type }) => type !== 'offsets').map(({ type, lamport }) => [type, lamport]),
    Array.from({ length: messages.length - 1 }, (_, i) => ['event', i]),
  )
  const next = new Map<string, number>()
  for (const { type, stream, offset } of messages)
    if (type === 'event') {
      assert.equal(offset, next.get(stream) ?? 0, `the offsets of ${stream} follow each other`)
      next.set(stream, offset + 1)
    }
}

/** Runs publishers and subscribers concurrently. Returns the messages of each subscriber. */
async function followWhile(node: TestNode, publishers: readonly (() => Promise<void>)[]): Promise<Message[][]> {
  const following = Array.from({ length: 4 }, () => follow(node))
  await Promise.all(publishers.map((publishing) => publishing()))
  await publish(node, ['end'])
  return await Promise.all(following)
}

test('a monotonic subscription to two streams of a single node gets no time travel', async (t) => {
  const node = await startNode(t)
  const routes = ['a', 'b'].map((name) => ({ from: `'${name}'`, into: name }))
  await node.node.settings.set(['eventRouting'], { routes }, 'test')
  const batches = [['a'], ['b'], ['a', 'b'], ['b', 'a', 'a'], ['b', 'b', 'b', 'a']]
  const publisher = async (): Promise<void> => {
    for (let i = 0; i < 250; i++) await publish(node, batches[i % batches.length] as string[])
  }
  for (const messages of await followWhile(node, [publisher, publisher])) assertComplete(messages)
})

test('a monotonic subscription gets no time travel while files are uploaded', async (t) => {
  const node = await startNode(t)
  const publisher = async (): Promise<void> => {
    for (let i = 0; i < 250; i++) await publish(node, ['a'])
  }
  const uploader = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) assert.equal((await node.upload({ 'a.txt': `content ${i}` })).status, 200)
  }
  for (const messages of await followWhile(node, [publisher, uploader])) assertComplete(messages)
})
