import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { limits } from '../../../src/base/limits.ts'
import { BlockPart } from '../../../src/swarm/thread/block-part.ts'
import { until } from '../../support/process.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

function opened() {
  const runtime = virtualRuntime()
  let requests = 0
  let listeners = 0
  const part = new BlockPart({
    runtime,
    random: () => 0.5,
    transport: { sendBlocks: () => {}, close: () => {} },
    store: {
      onAppended: () => {
        listeners++
        return () => listeners--
      },
    },
    timeoutMs: 1000,
    requestLink: () => requests++,
    onFailure: (error) => assert.fail(String(error)),
  })
  return { part, runtime, requests: () => requests, listeners: () => listeners }
}

/** A files thread that answers no call: its port, and the one for the link. */
function linkPort(): { readonly files: MessagePort; readonly link: MessagePort; readonly calls: string[] } {
  const { port1: files, port2: link } = new MessageChannel()
  const calls: string[] = []
  files.on('message', ({ name }: { name: string }) => calls.push(name))
  return { files, link, calls }
}

async function closed(port: MessagePort): Promise<void> {
  await new Promise((resolve) => port.once('close', resolve))
}

test('a link that has ended is asked for again, and one that could not be made ever more slowly', async () => {
  const { part, runtime, requests } = opened()
  const first = linkPort()
  part.link(first.link)
  await until(
    () => first.calls.includes('setPeers') || undefined,
    () => first.calls.join(),
  )
  const ended = closed(first.link)
  first.files.close()
  await ended
  assert.equal(requests(), 0)
  runtime.timers.advance(limits.minThreadRestartMs)
  assert.equal(requests(), 1)
  part.link(undefined)
  runtime.timers.advance(limits.minThreadRestartMs)
  assert.equal(requests(), 1)
  runtime.timers.advance(limits.minThreadRestartMs)
  assert.equal(requests(), 2)
  const second = linkPort()
  part.link(second.link)
  await until(
    () => second.calls.includes('setPeers') || undefined,
    () => second.calls.join(),
  )
  part.stop()
})

test('a second link, and one that comes after the end, is closed', async () => {
  const { part, runtime, requests, listeners } = opened()
  const [used, second, late] = [linkPort(), linkPort(), linkPort()]
  part.link(used.link)
  const isSecondClosed = closed(second.files)
  part.link(second.link)
  await isSecondClosed
  const ends = [closed(used.files), closed(late.files)]
  part.stop()
  part.link(late.link)
  await Promise.all(ends)
  runtime.timers.advance(limits.maxThreadRestartMs)
  assert.deepEqual([requests(), listeners(), runtime.timers.pending], [0, 0, 0])
})
