// `npm run bench:files [-- --rounds N]`: uploads and downloads of a node in its own process, relative to bare
// operations of the same run, with their memory and their effect on the publish latency of another client.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { format } from '../src/base/format.ts'
import { FileBuilder } from '../src/files/unixfs/index.ts'
import { content } from './files/client.ts'
import { RunningNode } from './files/running-node.ts'
import { interleave, time, timeAsync } from './store/measure.ts'
import { atLeast, atMost, figure, type Line, speed } from './store/report.ts'

/** Just below the maximum size of an upload, which includes the multipart framing. */
const mib = 127
const bytes = mib * 1024 * 1024
const atOnce = 10
const publishes = 1000

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } })
const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-files-'))
const importer = fork(join(import.meta.dirname, 'importer/import.mjs'))
const node = await RunningNode.start()
const { client } = node

/** Baseline: the importer of the IPFS tools, with blocks in memory. */
async function importToMemory(): Promise<number> {
  importer.send(bytes)
  const [ms] = (await once(importer, 'message')) as [number]
  return ms
}

/** The same with the implementation of the node. */
function makeBlocks(): void {
  const blocks = new Map<string, Buffer>()
  const builder = new FileBuilder((block) => blocks.set(String(block.cid), Buffer.from(block.bytes)))
  for (const piece of content(bytes))
    for (let at = 0; at < piece.length; at += format.fileChunkBytes)
      builder.add(piece.subarray(at, at + format.fileChunkBytes))
  builder.finish()
}

function copyToDisk(): void {
  const file = join(folder, 'copy')
  const descriptor = openSync(file, 'w')
  for (const piece of content(bytes)) writeSync(descriptor, piece)
  fsyncSync(descriptor)
  closeSync(descriptor)
  rmSync(file)
}

/** Peak memory above the idle memory, in mebibytes. */
async function memoryDuring(rest: number, work: () => Promise<unknown>): Promise<number> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, node.memory)
  }, 10)
  await work()
  clearInterval(timer)
  return most - rest
}

/** The p99 latency of publish calls in milliseconds. */
async function publishTail(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < publishes; i++) times.push(await timeAsync(() => client.publish()))
  return times.toSorted((a, b) => a - b)[Math.floor(publishes * 0.99)] ?? Number.NaN
}

async function memoryLines(): Promise<Line[]> {
  await sleep(2000)
  const rest = node.memory
  const single = await memoryDuring(rest, async () => await client.download(await client.upload(bytes)))
  const several = await memoryDuring(rest, async () => {
    const cids = await Promise.all(Array.from({ length: atOnce }, () => client.upload(bytes)))
    await Promise.all(cids.map((cid) => client.download(cid)))
  })
  const note = `at rest: ${rest.toFixed(0)} MiB`
  return [
    figure('memory of one', single, 'MiB', atMost(64), 'upload and download', note),
    figure(`memory of ${atOnce} at once`, several, 'MiB', atMost(200), 'uploads, then downloads', note),
  ]
}

async function publishLine(name: string, transfersAtOnce: number): Promise<Line> {
  const alone = await publishTail()
  const { base, token } = client
  const program = join(import.meta.dirname, 'files/transfers.ts')
  const transfers = spawn(process.execPath, [program, base, token, String(bytes), String(transfersAtOnce)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(transfers.stdout.resume(), 'data')
  const meanwhile = await publishTail()
  transfers.stdin.end()
  await once(transfers, 'exit')
  const measured = `p99 ${meanwhile.toFixed(1)} ms`
  return figure(name, meanwhile / alone, '×', atMost(3), measured, `alone: ${alone.toFixed(1)} ms`)
}

async function speedLines(): Promise<Line[]> {
  let cid = ''
  const upload = async (): Promise<number> =>
    await timeAsync(async () => {
      cid = await client.upload(bytes)
    })
  const download = (): Promise<number> => timeAsync(() => client.download(cid))
  const subjects = {
    upload,
    download,
    imported: importToMemory,
    made: () => time(makeBlocks),
    copied: () => time(copyToDisk),
  }
  const { upload: up, download: down, imported, made, copied } = await interleave(Number(values.rounds), subjects)
  const common = { operations: mib, unit: 'MiB' }
  return [
    speed({
      ...common,
      name: 'upload',
      goal: atLeast(0.5),
      ours: up,
      bare: imported,
      bareName: 'the IPFS importer, into memory',
    }),
    speed({ ...common, name: 'upload', ours: up, bare: made, bareName: 'our own blocks, into memory' }),
    speed({ ...common, name: 'upload', goal: atLeast(0.5), ours: up, bare: copied, bareName: 'copy with sync' }),
    speed({ ...common, name: 'download', ours: down, bare: copied, bareName: 'copy with sync' }),
  ]
}

try {
  const lines = [...(await memoryLines()), ...(await speedLines())]
  lines.push(await publishLine('publish meanwhile', 1), await publishLine(`… ${atOnce} at once`, atOnce))
  for (const { name, value, unit, goal, reached, measured, baseline } of lines) {
    const wanted = goal === undefined ? '' : `(${goal.is} ${goal.value}) ${reached === true ? '✔' : '✘'}`
    console.log(`${name.padEnd(22)}${value.toFixed(2).padStart(8)} ${unit} ${wanted}  ${measured}; ${baseline}`)
  }
} finally {
  importer.disconnect()
  await node.stop()
  rmSync(folder, { recursive: true, force: true })
}
