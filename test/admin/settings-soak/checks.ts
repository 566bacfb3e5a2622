import assert from 'node:assert/strict'
import type { Applied, SettingsDocument } from '../../../src/settings/index.ts'
import { control } from '../../support/control.ts'
import { json, type TestNode } from '../../support/node.ts'
import { until } from '../../support/process.ts'
import type { Publish } from './load.ts'

const restarting: readonly string[] = ['/swarm/swarmKey', '/swarm/topic']

/** The answer names what differs, and what of it restarts a part of the node. */
export function checkApplied(
  paths: readonly string[],
  before: object,
  after: object,
  { live, restart }: Applied,
): void {
  const applied = [...live, ...restart]
  const differing = paths.filter((path) => textAt(before, path) !== textAt(after, path))
  for (const path of applied) assert.notEqual(textAt(before, path), textAt(after, path), path)
  const named = (path: string) => applied.some((one) => one === path || one.startsWith(`${path}/`))
  assert.deepEqual(
    paths.filter((path) => named(path)),
    differing,
  )
  assert.deepEqual(
    [...restart].sort(),
    differing.filter((path) => restarting.includes(path)),
  )
}

function textAt(document: object, path: string): string | undefined {
  let value: unknown = document
  for (const name of path.slice(1).split('/')) value = (value as Readonly<Record<string, unknown>> | undefined)?.[name]
  return JSON.stringify(value)
}

/** The streams into which events are routed: a name has one for ever in a topic, and no other name has it. */
export class Streams {
  readonly #names = new Map<string, string>()

  check({ swarm, eventRouting }: SettingsDocument, stream: string): void {
    // Of the routes of this test the last one matches.
    const name = `${swarm.topic}: ${eventRouting.routes.at(-1)?.into ?? 'default'}`
    const key = `${swarm.topic}: ${stream}`
    assert.equal(this.#names.get(key) ?? name, name)
    this.#names.set(key, name)
    assert.equal([...this.#names.values()].filter((one) => one === name).length, 1, `${name} has two streams`)
  }
}

const unsigned = { appId: 'org.test.unsigned', displayName: 'Test', version: '1.0' }

/** With a licence in the settings, apps without a signature get no new token. */
export async function checkAdmission({ url }: TestNode, { licensing }: SettingsDocument): Promise<void> {
  const response = await fetch(`${url}/api/v2/auth`, { method: 'POST', body: JSON.stringify(unsigned), headers: json })
  await response.arrayBuffer()
  assert.equal(response.status, licensing.node === 'development' ? 200 : 400)
}

/** Publishes an event that is routed. Returns its stream. */
export async function publishRouted(publish: Publish, payload: string): Promise<string> {
  const { status, stream = '' } = await publish({ tags: ['soak', 'routed'], payload })
  assert.equal(status, 200)
  return stream
}

export async function ready({ url, log }: TestNode): Promise<void> {
  await until(
    async () => {
      const response = await fetch(`${url}/readyz`)
      await response.arrayBuffer()
      return response.status === 200 ? true : undefined
    },
    () => `the node is not ready:\n${log.slice(-50).join('')}`,
  )
}

export async function isConnected({ node }: TestNode): Promise<boolean> {
  return (await control(node.folder, 'GET', '/node/inspect')).body.connections.length > 0
}

export async function untilConnected(node: TestNode): Promise<void> {
  await until(
    async () => ((await isConnected(node)) ? true : undefined),
    () => `the node is not connected to its peer:\n${node.log.slice(-50).join('')}`,
  )
}

/** Waits until two nodes have the same events. */
export async function untilEqual(a: TestNode, b: TestNode): Promise<void> {
  let seen: unknown
  await until(
    async () => {
      const [atA, atB] = await Promise.all(
        [a, b].map(async ({ call }) => (await call('/api/v2/events/offsets')).json()),
      )
      seen = [atA, atB]
      // Leaves processor time to the nodes.
      await new Promise((resolve) => setTimeout(resolve, 50))
      try {
        assert.deepEqual([atA, atB], [{ present: (atA as { present: object }).present, toReplicate: {} }, atA])
        return true
      } catch {
        return undefined
      }
    },
    () => `the nodes do not have the same events:\n${JSON.stringify(seen)}\n${a.log.slice(-50).join('')}`,
  )
}
