import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { importProblems } from '../../scripts/imports.ts'
import { temporaryFolder } from '../support/folder.ts'

/** The problems that the check finds in a tree with these files. */
function problems(t: TestContext, files: Record<string, string>): string[] {
  const source = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), text)
  }
  return importProblems(source)
}

test('an import against the dependency direction is reported, in any form', (t) => {
  const forms = [
    "import { a } from '../api/a.ts'",
    "import type { A } from '../api/a.ts'",
    "export * from '../api/a.ts'",
    "const a = await import('../api/a.ts')",
    "import '../api/a.ts'",
  ]
  for (const form of forms)
    assert.deepEqual(
      problems(t, { 'store/b.ts': form, 'api/a.ts': '' }),
      ["store/b.ts: 'store' must not import 'api' (api/a.ts)"],
      form,
    )
})

test('an import cycle is reported', (t) => {
  const found = problems(t, {
    'logging/a.ts': "import './b.ts'",
    'logging/b.ts': "import './c.ts'",
    'logging/c.ts': "import './a.ts'",
  })
  assert.deepEqual(found, ['cycle: logging/a.ts → logging/b.ts → logging/c.ts → logging/a.ts'])
})

test('aql must not import other folders, and an unknown folder is reported', (t) => {
  assert.deepEqual(problems(t, { 'aql/a.ts': "import '../base/errors.ts'", 'base/errors.ts': '' }), [
    "aql/a.ts: 'aql' must not import 'base' (base/errors.ts)",
  ])
  assert.deepEqual(problems(t, { 'attic/a.ts': "import '../base/errors.ts'", 'base/errors.ts': '' }), [
    "attic/a.ts: the folder 'attic' has no place in the architecture",
  ])
})

test('replication may import protocol, identity and base, but no Node module and no package', (t) => {
  const files = { 'base/errors.ts': '', 'runtime/clock.ts': '', 'protocol/p.ts': '', 'store/s.ts': '' }
  const of = (specifier: string) => problems(t, { ...files, 'replication/r.ts': `import { a } from '${specifier}'` })
  for (const allowed of ['../protocol/p.ts', '../base/errors.ts']) assert.deepEqual(of(allowed), [], allowed)
  for (const refused of ['../store/s.ts', '../runtime/clock.ts', 'node:sqlite', 'ws'])
    assert.match(of(refused).join(), /^replication\/r\.ts: 'replication' must not import '.+$/, refused)
})

test('a port that imports its implementation, and an implementation that imports another one, are reported', (t) => {
  const files = { 'store/port/p.ts': '', 'store/sqlite/s.ts': '', 'store/memory/m.ts': '' }
  const of = (file: string, imported: string) => problems(t, { ...files, [file]: `import '${imported}'` })
  assert.deepEqual(of('store/memory/m.ts', '../port/p.ts'), [])
  assert.deepEqual(of('store/memory/m.ts', '../sqlite/s.ts'), [
    "store/memory/m.ts: 'store/memory' must not import 'store/sqlite'",
  ])
  assert.deepEqual(of('store/port/p.ts', '../memory/m.ts'), [
    "store/port/p.ts: 'store/port' must not import 'store/memory'",
  ])
})

test('a folder with an index.ts must be imported through that file', (t) => {
  const store = { 'store/index.ts': "import './rows/row.ts'", 'store/rows/row.ts': '', 'store/rows/index.ts': '' }
  const of = (specifier: string) => problems(t, { ...store, 'events/e.ts': `import '${specifier}'` })
  const inside = 'store/index.ts: imports store/rows/row.ts past the face of store/rows'
  assert.deepEqual(of('../store/index.ts'), [inside])
  for (const path of ['rows/row.ts', 'rows/index.ts'])
    assert.ok(of(`../store/${path}`).some((problem) => problem.startsWith(`events/e.ts: imports store/${path} past`)))
})

test('the source tree passes the check', () => {
  assert.deepEqual(importProblems(join(import.meta.dirname, '../../src')), [])
})
