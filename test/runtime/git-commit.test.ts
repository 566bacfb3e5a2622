import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gitCommit } from '../../src/runtime/git-commit.ts'
import { temporaryFolder } from '../support/folder.ts'

const hash = '0123456789abcdef0123456789abcdef01234567'

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

test('the commit is read from a branch, a packed ref or a detached HEAD', (t) => {
  const folder = temporaryFolder(t)
  write(folder, { '.git/HEAD': 'ref: refs/heads/some/branch\n', '.git/refs/heads/some/branch': `${hash}\n` })
  assert.equal(gitCommit(folder), '01234567')
  rmSync(join(folder, '.git/refs'), { recursive: true })
  write(folder, {
    '.git/packed-refs': `# pack-refs with: peeled\n${'9'.repeat(40)} refs/heads/x\n${hash} refs/heads/some/branch\n`,
  })
  assert.equal(gitCommit(folder), '01234567')
  write(folder, { '.git/HEAD': `${'a'.repeat(40)}\n` })
  assert.equal(gitCommit(folder), 'aaaaaaaa')
})

test('the commit of a worktree is read from the branch in its main repository', (t) => {
  const folder = temporaryFolder(t)
  write(folder, {
    'tree/.git': `gitdir: ${join(folder, 'main/.git/worktrees/tree')}\n`,
    'main/.git/worktrees/tree/HEAD': 'ref: refs/heads/branch\n',
    'main/.git/worktrees/tree/commondir': '../..\n',
    'main/.git/refs/heads/branch': `${hash}\n`,
  })
  assert.equal(gitCommit(join(folder, 'tree')), '01234567')
})

test('a folder without a valid .git has no commit', (t) => {
  const folder = temporaryFolder(t)
  assert.equal(gitCommit(folder), undefined)
  for (const head of ['', 'rubbish', 'ref: refs/heads/none']) {
    write(folder, { '.git/HEAD': head })
    assert.equal(gitCommit(folder), undefined, head)
  }
})
