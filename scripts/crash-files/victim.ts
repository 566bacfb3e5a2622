import { writeSync } from 'node:fs'
import { Random } from '../crash/random.ts'
import { type Action, blocksOf, filesOf, type Step } from './ledger.ts'
import { app, nothing, openFiles } from './open.ts'

/** Operates on files until it is killed, and reports the begin and the end of each operation. */
const [folder = '', seed = ''] = process.argv.slice(2)
const random = new Random(seed)
const { files } = await openFiles(folder)
/** Few numbers and names, so that operations conflict. */
const contents = 12
const names = ['a', 'b', 'c']

const say = (step: Step): void => {
  writeSync(1, `${JSON.stringify(step)}\n`)
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536)
}

function nextAction(): Action {
  const content = random.below(contents)
  const name = names[random.below(names.length)] ?? 'a'
  switch (random.below(8)) {
    case 0:
      return { kind: 'collect' }
    case 1:
      return { kind: 'remove', content }
    case 2:
      return { kind: 'name', name, content: undefined }
    case 3:
    case 4:
      return { kind: 'name', name, content }
    default:
      return { kind: 'upload', content }
  }
}

async function take(action: Action): Promise<void> {
  if (action.kind === 'collect') await files.collect(nothing)
  else if (action.kind === 'remove') await files.remove(app, blocksOf(action.content).cid)
  else if (action.kind === 'upload')
    await files.upload(app, async (upload) => {
      for (const [path, bytes] of filesOf(action.content)) await upload.add(path, inPieces(bytes))
    })
  else if (action.content === undefined) await files.unbind(action.name)
  else await files.bind(action.name, blocksOf(action.content).cid)
}

await files.names()
while (true) {
  const action = nextAction()
  say({ step: 'begin', action })
  await take(action)
  say({ step: 'done', action })
}
