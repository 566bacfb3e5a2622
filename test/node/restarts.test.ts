import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { type Membership, type RestartSteps, Restarts, restartFor } from '../../src/node/restarts.ts'
import * as fc from '../support/property.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

const first: Membership = { topic: 'a', swarmKey: 'k' }

/** Restarts whose steps end when the test says so. */
function restartsWithSteps() {
  const { timers } = virtualRuntime()
  const done: [keyof RestartSteps, Membership][] = []
  let running: Membership | undefined = first
  let end: ((error?: Error) => void) | undefined
  const step = (name: keyof RestartSteps) => (to: Membership) => {
    assert.equal(end, undefined, 'one restart runs at a time')
    assert.equal(restartFor(running, to), name, 'the smallest restart is chosen')
    if (name === 'changeTopic') running = undefined
    return new Promise<void>((resolve, reject) => {
      end = (error) => {
        end = undefined
        if (error !== undefined) {
          running = undefined
          reject(error)
          return
        }
        running = to
        done.push([name, to])
        resolve()
      }
    })
  }
  const steps = { changeTopic: step('changeTopic'), restartSwarm: step('restartSwarm') }
  const restarts = new Restarts(first, steps, timers)
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    restarts,
    timers,
    done,
    running: () => running,
    isBusy: () => end !== undefined,
    end: async (error?: Error) => {
      end?.(error)
      await settle()
    },
  }
}

test('a changed topic changes the topic, a changed key restarts the swarm, other settings do nothing', () => {
  assert.equal(restartFor(first, { ...first }), undefined)
  assert.equal(restartFor(first, { topic: 'a', swarmKey: 'l' }), 'restartSwarm')
  assert.equal(restartFor(first, { topic: 'b', swarmKey: 'k' }), 'changeTopic')
  assert.equal(restartFor(first, { topic: 'b', swarmKey: 'l' }), 'changeTopic')
  assert.equal(restartFor(undefined, first), 'changeTopic')
})

const changes = fc.record({ topic: fc.constantFrom('a', 'b', 'c'), swarmKey: fc.constantFrom('k', 'l') })
const actions = fc.array(
  fc.oneof(
    changes.map((to) => ({ do: 'change', to }) as const),
    fc.constant({ do: 'end' } as const),
    fc.constant({ do: 'fail' } as const),
    fc.constant({ do: 'wait' } as const),
  ),
  { maxLength: 30 },
)

test('after any changes and failures the last change is in force, by one restart at a time', async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (all) => {
      const { restarts, timers, running, isBusy, end } = restartsWithSteps()
      let wanted = first
      for (const action of all) {
        if (action.do === 'change') {
          wanted = action.to
          restarts.change(action.to)
        } else if (action.do === 'wait') timers.advance(limits.topicRetryMs)
        else await end(action.do === 'fail' ? new Error('the disk is full') : undefined)
      }
      // Every failure is repeated by the timer.
      const isOver = (): boolean => !isBusy() && restartFor(running(), wanted) === undefined
      for (let i = 0; i < 2 * all.length + 2 && !isOver(); i++) {
        await end()
        timers.advance(limits.topicRetryMs)
      }
      assert.ok(isOver())
      await restarts.stop()
      assert.equal(timers.pending, 0)
    }),
  )
})

test('a failed change is repeated after a while, and at once with another change', async () => {
  const { restarts, timers, done, isBusy, end } = restartsWithSteps()
  restarts.change({ topic: 'b', swarmKey: 'k' })
  await end(new Error('the disk is full'))
  restarts.change({ topic: 'b', swarmKey: 'k' })
  timers.advance(limits.topicRetryMs - 1)
  assert.equal(isBusy(), false)
  timers.advance(1)
  assert.equal(isBusy(), true)
  await end(new Error('the disk is full'))
  restarts.change(first)
  await end()
  assert.deepEqual(done, [['changeTopic', first]])
  assert.equal(timers.pending, 0)
})

test('changes that come during a restart are applied after it, without those in between', async () => {
  const { restarts, done, end } = restartsWithSteps()
  restarts.change({ topic: 'b', swarmKey: 'k' })
  restarts.change({ topic: 'c', swarmKey: 'k' })
  restarts.change({ topic: 'b', swarmKey: 'l' })
  await end()
  await end()
  assert.deepEqual(done, [
    ['changeTopic', { topic: 'b', swarmKey: 'k' }],
    ['restartSwarm', { topic: 'b', swarmKey: 'l' }],
  ])
})

test('a stop waits for the restart that runs, and no other one starts', async () => {
  const { restarts, done, isBusy, end } = restartsWithSteps()
  restarts.change({ topic: 'b', swarmKey: 'k' })
  restarts.change({ topic: 'c', swarmKey: 'k' })
  let isStopped = false
  const stopped = restarts.stop().then(() => {
    isStopped = true
  })
  await Promise.resolve()
  assert.equal(isStopped, false)
  await end()
  await stopped
  assert.deepEqual([done.length, isBusy()], [1, false])
})

test('a restart that is asked for closes and opens the same topic, also after one that runs', async () => {
  const { timers } = virtualRuntime()
  const done: string[] = []
  let end = (): void => {}
  const step = (name: string) => (to: Membership) =>
    new Promise<void>((resolve) => {
      end = () => {
        end = () => {}
        done.push(`${name} ${to.topic}`)
        resolve()
      }
    })
  const restarts = new Restarts(first, { changeTopic: step('topic'), restartSwarm: step('swarm') }, timers)
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  restarts.restart()
  restarts.restart()
  for (let i = 0; i < 3; i++) {
    end()
    await settle()
  }
  // The first asked for was running when the second was asked for.
  assert.deepEqual(done, ['topic a', 'topic a'])
  await restarts.stop()
  restarts.restart()
  assert.equal(done.length, 2)
})
