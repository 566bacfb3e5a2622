import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readChunk } from '../../../src/replication/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { buildSeal, LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { noise } from '../../support/noise.ts'
import { closeLog, linesOf, openLog } from './queries.ts'
import { openWriter, otherKey, request } from './small-store.ts'

/** The files on disk at one moment: the database and its write-ahead log. */
export interface Disk {
  readonly database: Buffer
  readonly log: Buffer
}

/** One commit, with the stored contents after it. */
export interface Commit {
  readonly name: string
  readonly disk: Disk
  readonly contents: string
}

/** Runs commits one by one without checkpoints, and records the files on disk after each of them. */
export class Recording {
  readonly commits: Commit[] = []
  readonly #folder: string
  readonly #file: string
  readonly #writer: LogWriter

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'recorded.db')
    this.#writer = openWriter(this.#file)
    disableCheckpoints(this.#writer)
    this.#record('made')
  }

  run(steps: Readonly<Record<string, (writer: LogWriter) => void>>): void {
    for (const [name, step] of Object.entries(steps)) {
      step(this.#writer)
      this.#record(name)
    }
  }

  /** Runs a checkpoint: the next commit overwrites the log from its start. */
  checkpoint(): Disk {
    runCheckpoint(this.#writer)
    return this.#disk()
  }

  close(): void {
    this.#writer.close()
  }

  #record(name: string): void {
    const disk = this.#disk()
    this.commits.push({ name, disk, contents: contentsOf(join(this.#folder, 'noted.db'), disk) })
  }

  #disk(): Disk {
    return { database: readFileSync(this.#file), log: readFileSync(`${this.#file}-wal`) }
  }
}

/** Each step is one commit; together they cover all kinds of writes. */
export function steps(folder: string): Record<string, (writer: LogWriter) => void> {
  const [first, second, third] = chunksOfAnotherNode(join(folder, 'other.db'))
  return {
    'one event': (writer) => writer.append([request(1, 0)]),
    'events of two streams': (writer) => writer.append([request(3, 1), request(2, 0, 7)]),
    'events that fill a chunk': (writer) => writer.append([request(9, 4)]),
    'a large payload': (writer) => writer.append([request(1, 13, 0, noisyText(20_000))]),
    'many events at once': (writer) => writer.append([request(40, 14), request(30, 2, 7)]),
    'a chunk of another node': (writer) => writer.receive(first),
    'a chunk that waits': (writer) => writer.receive(third, { before: readChunk(second).signedHead }),
    'a chunk that another one has waited for': (writer) => writer.receive(second),
    'a seal': seal,
    'events after a seal': (writer) => writer.append([request(2, 54)]),
    'a prune': (writer) => writer.prune(0, firstCheckpoint(writer)),
    'a redaction in a segment': (writer) => writer.redact(0, [firstCheckpoint(writer) + 1]),
    'a redaction in the tail': (writer) => writer.redact(0, [55]),
    'a second seal': seal,
    'events in the end': (writer) => writer.append([request(1, 56)]),
  }
}

function seal(writer: LogWriter): void {
  const plan = writer.upkeep.planSeal()
  if (plan === undefined) throw new Error('there is nothing to seal')
  writer.upkeep.applySeal(buildSeal(writer.database, plan))
}

function firstCheckpoint({ database }: LogWriter): number {
  return Number(database.prepare('SELECT min(key) AS count FROM checkpoint').get()?.['count'])
}

function chunksOfAnotherNode(file: string): [Uint8Array, Uint8Array, Uint8Array] {
  const writer = openWriter(file, otherKey)
  const reader = new LogReader(file, writer.counts, otherKey.publicKey, systemClock)
  try {
    writer.append([request(8, 0)])
    writer.append([request(8, 8)])
    writer.append([request(3, 16)])
    return [0, 8, 16].map((from) => reader.chunk(0, from, writer.head(0))) as [Uint8Array, Uint8Array, Uint8Array]
  } finally {
    reader.close()
    writer.close()
  }
}

/** Incompressible text, which fills several pages. */
function noisyText(length: number): string {
  return noise(length).toString('base64url').slice(0, length)
}

/** Disables checkpoints of this connection; a redaction would run one, to leave nothing in the log. */
function disableCheckpoints({ database }: LogWriter): void {
  const exec = database.exec.bind(database)
  database.exec = (sql) => exec(sql.replace(checkpointStatement, ''))
  const prepare = database.prepare.bind(database)
  database.prepare = (sql) => prepare(sql.replace(checkpointStatement, 'SELECT 0 AS busy, 0 AS log, 0 AS checkpointed'))
}

const checkpointStatement = /PRAGMA wal_checkpoint\(\w+\)/g

function runCheckpoint({ database }: LogWriter): void {
  // The extra space keeps this statement from being disabled.
  const { busy } = database.prepare('PRAGMA  wal_checkpoint(FULL)').get() ?? {}
  if (busy !== 0) throw new Error('the checkpoint was blocked')
}

function writeDisk(file: string, { database, log }: Disk): void {
  rmSync(`${file}-shm`, { force: true })
  writeFileSync(file, database)
  writeFileSync(`${file}-wal`, log)
}

/** Opens a copy of the files. Returns everything in it. */
export function contentsOf(file: string, disk: Disk): string {
  writeDisk(file, disk)
  const log = openLog(file)
  try {
    const { writer, reader } = log
    const { bytes, error } = linesOf(reader, { anyOf: [{ tags: [] }], order: 'asc' })
    if (error !== undefined) throw error
    const streams = reader.status().map(({ number, count, pruned }) => {
      const head = writer.head(number)
      return [number, count, pruned, head && Buffer.from(head).toString('hex'), reader.checkpoints(number).length]
    })
    const rows = ['waiting', 'redaction', 'segment', 'tail', 'range', 'times'].map(
      (table) => writer.database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.['rows'],
    )
    return `${JSON.stringify({ streams, rows, clock: writer.clock })}\n${bytes.toString()}`
  } finally {
    closeLog(log)
    for (const suffix of ['-wal', '-shm']) if (existsSync(`${file}${suffix}`)) rmSync(`${file}${suffix}`)
  }
}
