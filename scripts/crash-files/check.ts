import type { Files } from '../../src/files/index.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { verifyBlocks } from '../../src/store/index.ts'
import { blocksOf, type FilesLedger, filesOf } from './ledger.ts'
import { app, blocksIn, node, nothing, openFiles } from './open.ts'

/** Compares the store after a kill with everything that was acknowledged. */
export async function checkFiles(folder: string, ledger: FilesLedger): Promise<string[]> {
  const { files, close } = await openFiles(folder)
  const problems: string[] = []
  try {
    await settleOpen(files, ledger)
    problems.push(...(await nameProblems(files, ledger)), ...(await contentProblems(files, ledger)))
    for (let i = 0; i < 2; i++) await files.collect(nothing)
    problems.push(...(await contentProblems(files, ledger)))
  } finally {
    await close()
  }
  const { problems: damage } = verifyBlocks(blocksIn(folder), node)
  return [...problems, ...damage, ...(await orphanProblems(folder, ledger))]
}

/** Finds out whether the pending operation has taken effect. Both are correct, but it has to be atomic. */
async function settleOpen(files: Files, ledger: FilesLedger): Promise<void> {
  const { open } = ledger
  if (open === undefined) return
  if (open.kind === 'name') {
    const named = (await files.names()).find(({ name }) => name === open.name)?.cid
    const wanted = open.content === undefined ? undefined : blocksOf(open.content).cid
    if (named === wanted) ledger.settle()
  } else if (open.kind === 'upload' || open.kind === 'remove') {
    // Removing the upload settles it in both cases.
    await files.remove(app, blocksOf(open.content).cid)
    ledger.open = { kind: 'remove', content: open.content }
    ledger.settle()
  }
  ledger.open = undefined
}

async function nameProblems(files: Files, ledger: FilesLedger): Promise<string[]> {
  const found = new Map((await files.names()).map(({ name, cid }) => [name, cid]))
  const expected = new Map([...ledger.names].map(([name, content]) => [name, blocksOf(content).cid]))
  return [...new Set([...found.keys(), ...expected.keys()])]
    .filter((name) => found.get(name) !== expected.get(name))
    .map((name) => `the name ${name} means ${found.get(name)}, not ${expected.get(name)}`)
}

/** Acknowledged uploads that are not complete. */
async function contentProblems(files: Files, ledger: FilesLedger): Promise<string[]> {
  const problems: string[] = []
  for (const content of ledger.kept) {
    const { cid } = blocksOf(content)
    for (const [path, bytes] of filesOf(content)) {
      const read = await contentOf(files, cid, path.split('/'))
      if (read?.equals(bytes) !== true) problems.push(`${path} of upload ${content} is not as it was`)
    }
  }
  return problems
}

async function contentOf(files: Files, cid: string, path: readonly string[]): Promise<Buffer | undefined> {
  const { content } = await files.find(cid, path)
  if (content?.type !== 'file') return undefined
  const pieces: Uint8Array[] = []
  for await (const piece of files.read(content.cid, 0, content.size)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Leaked blocks: after two garbage collections with an empty cache only pinned blocks are left. */
async function orphanProblems(folder: string, ledger: FilesLedger): Promise<string[]> {
  const store = new FileStore(blocksIn(folder), systemRuntime)
  try {
    const { blocks, cachedBlocks } = store.usage()
    const kept = new Set([...ledger.kept].flatMap((content) => [...blocksOf(content).blocks]))
    const named = new Set([...ledger.names.values()].flatMap((content) => [...blocksOf(content).blocks]))
    const most = new Set([...kept, ...named]).size
    if (cachedBlocks > 0) return [`${cachedBlocks} blocks that nothing holds are left`]
    // The content of a name may never have been uploaded, or was evicted before it got the name.
    return blocks < kept.size || blocks > most ? [`there are ${blocks} blocks, not ${kept.size} to ${most}`] : []
  } finally {
    await store.close()
  }
}
