import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { logOutput, textLine } from '../../src/logging/index.ts'
import { Node } from '../../src/node/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Json, type Scope, Settings, type SettingsChange } from '../../src/settings/index.ts'
import { DataFolder, NodeDatabase } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'
import { testSeed } from '../support/seed.ts'
import { jsonText, specifiedDefaults, type Tree, textOf, treeOf, valueAt } from './model/document.ts'
import { type Announcement, Model, type Operation, type Outcome, scopeOf } from './model/model.ts'
import { atOnce, objectScopes, oneAfterTheOther, sections, setting } from './model/operations.ts'
import { isValid } from './model/rules.ts'
import { grafted, mix, nested, rightDocuments, rows } from './model/values.ts'

/** The system under test: settings in a data folder on disk. */
class Subject {
  readonly #folder: DataFolder
  readonly #database: NodeDatabase
  readonly settings: Settings
  readonly announced: Announcement[] = []

  private constructor(folder: DataFolder, database: NodeDatabase, settings: Settings) {
    this.#folder = folder
    this.#database = database
    this.settings = settings
    settings.onChange((change) => this.announced.push(announcementOf(change)))
  }

  static async open(path: string): Promise<Subject> {
    const folder = DataFolder.open(path, { create: true })
    const database = NodeDatabase.open(folder.nodeDatabase)
    return new Subject(folder, database, await Settings.open(database.settings, systemClock, refuseNothing))
  }

  /** Opens the settings like another version of shoal, whose seal differs: every revision is validated again. */
  async reviewed(): Promise<Settings> {
    const log = this.#database.settings
    const revisions = [...log.revisions()].map((revision) => ({ ...revision, seal: 'of another version' }))
    return await Settings.open({ ...log, revisions: () => revisions }, systemClock, refuseNothing)
  }

  close(): void {
    this.#database.close()
    this.#folder.close()
  }
}

function refuseNothing(revision: number, reason: Error): void {
  assert.fail(`revision ${revision} was stored and is refused: ${reason.message}`)
}

function announcementOf({ revision, scope, before, after, paths }: SettingsChange): Announcement {
  return { revision, scope, before: jsonText(before), after: jsonText(after), paths: [...paths].sort() }
}

/** The result or the error code of an operation; only a `ShoalError` is an expected error. */
async function outcomeOf(work: () => Promise<unknown> | unknown): Promise<Outcome> {
  try {
    return { answer: jsonText(await work()) }
  } catch (error) {
    if (error instanceof ShoalError) return { refused: error.code }
    throw error
  }
}

function perform(settings: Settings, operation: Operation): Promise<Outcome> {
  return outcomeOf(() => {
    switch (operation.kind) {
      case 'set':
        return settings.set(operation.scope, operation.value, 'test')
      case 'merge':
        return settings.merge(operation.scope, operation.value, 'test')
      case 'unset':
        return settings.unset(operation.scope, 'test')
      case 'rollback':
        return settings.rollback(operation.revision, 'test')
    }
  })
}

/** Asserts that the settings equal the model in everything that can be read. */
function compare(settings: Settings, model: Model): void {
  assert.equal(settings.revision, model.revision)
  assert.equal(jsonText(settings.get([], { defaults: false })), textOf(model.stored))
  assert.equal(jsonText(settings.get([])), textOf(model.shown))
  assert.equal(jsonText(settings.document), textOf(model.shown))
  const history = [...settings.history(1000)].map(({ revision, document }) => [revision, jsonText(document)])
  assert.deepEqual(
    history.reverse(),
    [...model.texts.entries()].map(([i, text]) => [i + 1, text]),
  )
}

async function compareAt(scope: Scope, settings: Settings, model: Model): Promise<void> {
  const found = (tree: Tree | undefined): Outcome =>
    tree === undefined ? { refused: 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE' } : { answer: textOf(tree) }
  assert.deepEqual(await outcomeOf(() => settings.get(scope)), found(valueAt(model.shown, scope)))
  assert.deepEqual(await outcomeOf(() => settings.get(scope, { defaults: false })), found(valueAt(model.stored, scope)))
}

async function step(subject: Subject, model: Model, operation: Operation): Promise<Outcome> {
  const expected = model.perform(operation)
  assert.deepEqual(await perform(subject.settings, operation), expected)
  assert.deepEqual(subject.announced.splice(0), model.announced.splice(0))
  compare(subject.settings, model)
  await compareAt(scopeOf(operation), subject.settings, model)
  return expected
}

function startNode(folder: string): Promise<Node> {
  const endpoint = [{ host: '127.0.0.1', port: 0 }]
  const output = logOutput(textLine(false), { write: () => {}, flush: async () => {} }, systemClock)
  return Node.start({ folder, endpoints: { api: endpoint, admin: endpoint, swarm: endpoint }, output })
}

async function startsWith(folder: string, model: Model): Promise<void> {
  const node = await startNode(folder)
  try {
    compare(node.settings, model)
  } finally {
    await node.stop('NODE_STOPPED_BY_HOST')
  }
}

/** Creates paths of data folders that are removed after the test. */
function newFolders(t: TestContext): () => string {
  const parent = temporaryFolder(t)
  let count = 0
  return () => join(parent, String(count++))
}

const operationsBetweenRestarts = 10

/** Starting a whole node is slow, so only every fifth sequence does; the settings are always reopened. */
const sequencesPerNode = 25

async function runThrough(
  folder: string,
  operations: Operation[],
  withNode: boolean,
  count: (end: string) => void,
): Promise<void> {
  const model = new Model()
  let subject = await Subject.open(folder)
  try {
    for (const [i, operation] of operations.entries()) {
      const outcome = await step(subject, model, operation)
      count('refused' in outcome ? `${operation.kind}: ${outcome.refused}` : `${operation.kind}: accepted`)
      if (i % operationsBetweenRestarts > 0) continue
      subject.close()
      subject = await Subject.open(folder)
      compare(subject.settings, model)
    }
    compare(await subject.reviewed(), model)
  } finally {
    subject.close()
  }
  if (withNode) await startsWith(folder, model)
}

function conformanceCases(): { document: Json; valid: boolean }[] {
  const file = new URL('../../conformance/settings/documents.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as { document: Json; valid: boolean }[]
}

test('the model agrees with the conformance cases on which documents are valid', () => {
  for (const { document, valid } of conformanceCases())
    assert.equal(isValid(treeOf(document)), valid, JSON.stringify(document))
})

test('the conformance cases are accepted or refused, a refused one changes nothing, and the output of `get` is accepted', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const { settings } = subject
  for (const { document, valid } of conformanceCases()) {
    const stored = JSON.stringify(settings.get([], { defaults: false }))
    const outcome = await settings.set([], document, 'test').then(
      () => 'OK',
      ({ code }: { code: string }) => code,
    )
    assert.equal(outcome, valid ? 'OK' : 'ERR_SETTINGS_INVALID', JSON.stringify(document))
    if (valid) await settings.set([], settings.get([]) as Json, 'test')
    else assert.equal(JSON.stringify(settings.get([], { defaults: false })), stored)
  }
})

test('the generators produce valid and invalid values for every setting', (t) => {
  const some = { numRuns: 30, seed: testSeed(t) }
  for (const { scope, right, wrong } of rows) {
    const fits = (value: Json): boolean => isValid(treeOf(grafted({}, scope, value)))
    assert.ok(fc.sample(right, some).every(fits), `a value for ${scope.join('/')} is wrong`)
    assert.ok(!fc.sample(wrong, some).every(fits), `no value for ${scope.join('/')} is wrong`)
  }
  assert.ok(fc.sample(rightDocuments, some).some((document) => Object.keys(document).length === sections.length))
})

test('a new node has the defaults of the specification, and no stored settings', async (t) => {
  const node = await startNode(temporaryFolder(t))
  t.after(() => node.stop('NODE_STOPPED_BY_HOST'))
  assert.deepEqual(node.settings.get([]), specifiedDefaults)
  assert.deepEqual(node.settings.get([], { defaults: false }), {})
  compare(node.settings, new Model())
})

test('every setting accepts the values of its row in the specification, and refuses others', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const model = new Model()
  for (const { scope, right, wrong } of rows) {
    await fc.assert(
      fc.asyncProperty(mix([1, right], [3, wrong]), async (value) => {
        const operation = setting({ scope, value })
        const expected = model.perform(operation)
        assert.deepEqual(await perform(subject.settings, operation), expected)
      }),
    )
  }
  compare(subject.settings, model)
})

test('thousands of generated changes agree with the model across restarts, and nodes start with the results', {
  timeout: 600_000,
}, async (t) => {
  const newFolder = newFolders(t)
  let sequences = 0
  const ends = new Map<string, number>()
  const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1)
  await fc.assert(
    fc.asyncProperty(oneAfterTheOther, (operations) =>
      runThrough(newFolder(), operations, sequences++ % sequencesPerNode === 0, count),
    ),
    { numRuns: 150 },
  )

  // Guards against a degenerate run, in which all operations have the same outcome.
  const sum = (ending: string): number =>
    [...ends].filter(([end]) => end.endsWith(ending)).reduce((total, [, times]) => total + times, 0)
  const [total, accepted] = [sum(''), sum('accepted')]
  assert.ok(total >= 2000, `only ${total} operations`)
  assert.ok(accepted > total / 4 && accepted < (total * 3) / 4, `${accepted} of ${total} were accepted`)
  const possible = ['set', 'merge', 'unset'].flatMap((kind) => [`${kind}: accepted`, `${kind}: ERR_SETTINGS_INVALID`])
  possible.push('rollback: accepted', 'rollback: ERR_SETTINGS_REVISION_UNKNOWN')
  assert.deepEqual([...ends.keys()].sort(), possible.sort())
})

test('concurrent changes are serialised, and each returns its own result', async (t) => {
  const newFolder = newFolders(t)
  await fc.assert(
    fc.asyncProperty(atOnce, async (operations) => {
      const subject = await Subject.open(newFolder())
      try {
        const model = new Model()
        const expected = operations.map((operation) => model.perform(operation))
        const { settings, announced } = subject
        const outcomes = await Promise.all(operations.map((operation) => perform(settings, operation)))
        assert.deepEqual(outcomes, expected)
        assert.deepEqual(announced, model.announced)
        compare(settings, model)
      } finally {
        subject.close()
      }
    }),
    { numRuns: 50 },
  )
})

test('the output of `get` is accepted by `set` at the same scope and changes no effective value', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const { settings, announced } = subject
  const scopes = fc.constantFrom<Scope[]>([], ...objectScopes, ...rows.map(({ scope }) => scope))
  await fc.assert(
    fc.asyncProperty(rightDocuments, scopes, async (document, scope) => {
      await settings.set([], document, 'test')
      const shown = settings.document
      const value = valueAt(treeOf(shown), scope)
      fc.pre(value !== undefined)
      announced.length = 0
      const printed = JSON.stringify(settings.get(scope))
      assert.equal(jsonText(await settings.set(scope, JSON.parse(printed) as Json, 'test')), textOf(value))
      assert.equal(jsonText(settings.document), jsonText(shown))
      assert.deepEqual(
        announced.flatMap(({ paths }) => paths),
        [],
      )
    }),
  )
})

test('a document at the size limit is stored, one byte more is refused', async (t) => {
  const withText = (length: number): Json => ({ admin: { displayName: 'x'.repeat(length) } })
  const rest = limits.settingsDocumentBytes - JSON.stringify(withText(0)).length
  const ends: string[] = []
  const operations = [rest + 1, rest].map((size): Operation => ({ kind: 'set', scope: [], value: withText(size) }))
  await runThrough(temporaryFolder(t), operations, true, (end) => ends.push(end))
  assert.deepEqual(ends, ['set: ERR_SETTINGS_INVALID', 'set: accepted'])
})

test('an invalid document is refused quickly: no regex backtracking, no quadratic validation', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const nearlyAnAppId = { licensing: { apps: { [`${'1'.repeat(28)}!`]: 'testing' } } }
  const wrongLicences = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`a${i}`, 1]))
  const documents = [nearlyAnAppId, { licensing: { apps: wrongLicences } }, nested(100_000)]
  for (const document of documents) {
    const start = performance.now()
    await assert.rejects(subject.settings.set([], document, 'test'), { code: 'ERR_SETTINGS_INVALID' })
    await assert.rejects(subject.settings.merge([], document, 'test'), { code: 'ERR_SETTINGS_INVALID' })
    const seconds = (performance.now() - start) / 1000
    // Exponential backtracking would take years, linear validation a moment; the limit allows for a slow machine.
    assert.ok(seconds < 60, `it took ${seconds} seconds`)
  }
  compare(subject.settings, new Model())
})
