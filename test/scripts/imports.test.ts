import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { importProblems } from '../../scripts/imports.ts'
import { temporaryFolder } from '../support/folder.ts'

/** What the check says of a tree with these files. */
function problems(t: TestContext, files: Record<string, string>): string[] {
  const source = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), text)
  }
  return importProblems(source)
}

test('an import against the arrows is found, whatever its form', (t) => {
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

test('a cycle between files is found', (t) => {
  const found = problems(t, {
    'log/a.ts': "import './b.ts'",
    'log/b.ts': "import './c.ts'",
    'log/c.ts': "import './a.ts'",
  })
  assert.deepEqual(found, ['cycle: log/a.ts → log/b.ts → log/c.ts → log/a.ts'])
})

test('aql stands alone, and a folder that nobody planned is named', (t) => {
  assert.deepEqual(problems(t, { 'aql/a.ts': "import '../errors.ts'", 'errors.ts': '' }), [
    "aql/a.ts: 'aql' must not import '.' (errors.ts)",
  ])
  assert.deepEqual(problems(t, { 'attic/a.ts': "import '../errors.ts'", 'errors.ts': '' }), [
    "attic/a.ts: the folder 'attic' has no place in the architecture",
  ])
})

test('replication imports protocol, identity and a few files of src, nothing of Node and no package', (t) => {
  const files = { 'errors.ts': '', 'memory.ts': '', 'protocol/p.ts': '', 'store/s.ts': '' }
  const of = (specifier: string) => problems(t, { ...files, 'replication/r.ts': `import { a } from '${specifier}'` })
  for (const allowed of ['../protocol/p.ts', '../errors.ts']) assert.deepEqual(of(allowed), [], allowed)
  for (const refused of ['../store/s.ts', '../memory.ts', 'node:sqlite', 'ws'])
    assert.match(of(refused).join(), /^replication\/r\.ts: 'replication' must not import '.+$/, refused)
})

test('the tree of the project follows the arrows', () => {
  assert.deepEqual(importProblems(join(import.meta.dirname, '../../src')), [])
})
