import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { formatPublicKey, KeyPair } from '../../src/identity/index.ts'
import type { Listening } from '../../src/listening/listen.ts'
import { ask, signIn } from '../support/admin.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'

type Document = Record<string, unknown> | null

interface SettingsCase {
  readonly path: string
  readonly document: Document
  readonly valid: boolean
}

const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../conformance/settings/documents.json'), 'utf8'),
) as SettingsCase[]

const anna = new KeyPair(Buffer.alloc(32, 2))
const key = formatPublicKey(anna.publicKey)

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The document with the user who sets it: without the own key this would be the last request. */
function withUser(document: Document): unknown {
  if (!isObject(document)) return document
  const { admin = {} } = document
  if (!isObject(admin)) return document
  const { authorizedUsers = [] } = admin
  if (!Array.isArray(authorizedUsers)) return document
  return { ...document, admin: { ...admin, authorizedUsers: [...authorizedUsers, key] } }
}

test('a running node accepts and refuses the recorded settings documents, through its admin port', async (t) => {
  const { node } = await startBareNode(t, { folder: join(temporaryFolder(t), 'data') })
  const [at] = node.addresses.admin as readonly [Listening]
  const { token } = (await signIn(at, anna)).body
  const send = (document: unknown, query = '') =>
    ask(at, 'PUT', `/settings?scope=/${query}`, { token, body: JSON.stringify(document) })
  assert.ok(cases.length > 300)
  for (const { path, document, valid } of cases) {
    const what = `${path} ${JSON.stringify(document)}`
    const before = node.settings.revision
    const tried = await send(document, '&dryRun=true&force=true')
    assert.equal(tried.status, valid ? 200 : 422, what)
    assert.equal(tried.body.code, valid ? undefined : 'ERR_SETTINGS_INVALID', what)
    // A change of the topic opens a store: that is shown elsewhere.
    if (tried.body.applied?.restart.includes('/swarm/topic')) continue
    const done = await send(withUser(document))
    assert.equal(done.status, valid ? 200 : 422, what)
    if (!valid) assert.equal(node.settings.revision, before, what)
    // What is shown is accepted again, and changes nothing.
    else assert.deepEqual((await send(done.body.settings)).body.applied, { live: [], restart: [] }, what)
  }
})
