import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Events } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { memoryStore, nodeId, silent } from '../support/api.ts'
import * as fc from '../support/property.ts'

/** A route: it matches events that have all tags of one of the groups. */
interface Route {
  readonly anyOf: readonly (readonly string[])[]
  readonly into: string
}

const tag = fc.constantFrom('a', 'b', 'c', 'd e', "o'clock", '"', '&', 'é', 'e\u0301')
const route: fc.Arbitrary<Route> = fc.record({
  anyOf: fc.array(fc.array(tag, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 }),
  into: fc.constantFrom('default', 'one', 'two', 'files', 'three'),
})
const step = fc.record({
  routes: fc.option(fc.array(route, { maxLength: 5 }), { nil: undefined }),
  published: fc.array(fc.array(tag, { maxLength: 4 }), { maxLength: 8 }),
})

function setting({ anyOf, into }: Route, mark: string): { from: string; into: string } {
  const quoted = (text: string) => `${mark}${text.replaceAll(mark, mark + mark)}${mark}`
  return { from: anyOf.map((group) => group.map(quoted).join(' & ')).join(' | '), into }
}

/** A naive reference implementation of the streams of a node. */
class NaiveStreams {
  readonly #names: string[] = []
  #routes: readonly Route[] = []

  set routes(routes: readonly Route[]) {
    this.#routes = routes
    for (const name of ['default', ...routes.map(({ into }) => into), 'discovery', 'metrics', 'files'])
      if (!this.#names.includes(name)) this.#names.push(name)
  }

  streamOf(tags: readonly string[]): string {
    const has = (wanted: string) => tags.some((one) => one.normalize('NFC') === wanted.normalize('NFC'))
    const first = this.#routes.find(({ anyOf }) => anyOf.some((group) => group.every(has)))
    return `${nodeId}-${this.#names.indexOf(first?.into ?? 'default')}`
  }
}

test('every event goes to the stream of the first matching route, also when the routes change', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(route, { maxLength: 5 }),
      fc.array(step, { minLength: 1, maxLength: 6 }),
      fc.constantFrom("'", '"'),
      async (routes, steps, mark) => {
        const naive = new NaiveStreams()
        naive.routes = routes
        const settings = routes.map((one) => setting(one, mark))
        const events = await Events.open(memoryStore(), {
          ...systemRuntime,
          node: nodeId,
          routes: settings,
          log: silent,
        })
        for (const { routes: others, published } of steps) {
          if (others !== undefined) {
            naive.routes = others
            events.routes = others.map((one) => setting(one, mark))
          }
          const data = published.map((tags) => ({ tags, payload: null }))
          const text = String(await events.publish('com.example.app', Buffer.from(JSON.stringify({ data }))))
          assert.deepEqual(
            (JSON.parse(text) as { data: { stream: string }[] }).data.map(({ stream }) => stream),
            published.map((tags) => naive.streamOf(tags)),
          )
        }
      },
    ),
    { numRuns: 300 },
  )
})
