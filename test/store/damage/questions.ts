import { copyFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/runtime/clock.ts'
import { NdjsonWriter } from '../../../src/store/jobs/ndjson-writer.ts'
import type { Selection } from '../../../src/store/port/index.ts'
import { LogCursor, LogReader, type LogWriter } from '../../../src/store/sqlite/index.ts'
import { openWriter, ownKey, request, type SmallStore } from './small-store.ts'

/** What came as an answer, up to the error that ended it, if one did. */
export interface Answer {
  readonly bytes: Buffer
  readonly error?: unknown
}

/** By question. Whatever is asked after a store could not be opened has no answer. */
export type Answers = ReadonlyMap<string, Answer>

const selections: Readonly<Record<string, Selection>> = {
  'everything, upwards': { anyOf: [{ tags: [] }], order: 'asc' },
  'everything, downwards': { anyOf: [{ tags: [] }], order: 'desc' },
  'a tag that all have': { anyOf: [{ tags: ['all'] }], order: 'asc' },
  'rare tags': { anyOf: [{ tags: ['id:11'] }, { tags: ['all', 'id:23'] }, { tags: ['id:3'] }], order: 'asc' },
  'a rare app, downwards': { anyOf: [{ tags: [], appId: 'rare' }], order: 'desc' },
  'a tag that none has': { anyOf: [{ tags: ['none'] }], order: 'asc' },
  'a tag, of other nodes': { anyOf: [{ tags: ['id:7'], own: false }], order: 'asc' },
}

/** Where the chunks of the streams begin. */
const chunkStarts: readonly (readonly number[])[] = [[8, 18, 26], [0], [0]]

/** Opens the small store, asks it everything, and has it take in what is still to come. */
export function ask({ file, pieceToCome }: SmallStore): Answers {
  const answers = new Map<string, Answer>()
  let log: OpenLog | undefined
  note(answers, 'open', () => {
    log = openLog(file)
    return ''
  })
  if (log === undefined) return answers
  try {
    askWhatIsThere(log, answers)
    note(answers, 'append', () => json(log?.writer.append([request(1, 0), request(1, 0, 7)])))
    note(answers, 'receive', () => json(log?.writer.receive(pieceToCome)))
    note(answers, 'tidy up', () => tidyUp(log?.writer))
    answers.set('everything, after that', linesOf(log.reader, { anyOf: [{ tags: [] }], order: 'desc' }))
  } finally {
    closeLog(log)
  }
  return answers
}

/** What a store does when it has time: rows of the tail are replaced, and must not be lost if they are damaged. */
function tidyUp(writer: LogWriter | undefined): string {
  writer?.sealAll()
  while (writer?.reindexNext());
  return ''
}

function askWhatIsThere({ writer, reader }: OpenLog, answers: Map<string, Answer>): void {
  for (const [name, selection] of Object.entries(selections)) answers.set(name, linesOf(reader, selection))
  note(answers, 'streams', () => json(reader.status()))
  for (const [stream, starts] of chunkStarts.entries()) {
    const head = writer.head(stream)
    note(answers, `head of ${stream}`, () => head ?? '')
    note(answers, `checkpoints of ${stream}`, () => json(reader.checkpoints(stream)))
    for (const from of starts)
      note(answers, `chunk of ${stream} from ${from}`, () => reader.chunk(stream, from, head) ?? '')
  }
}

/** What is right: all answers, and for what is asked in the end, what it can be after what came before it. */
export interface RightAnswers {
  readonly answers: Answers
  readonly received: readonly Buffer[]
  readonly afterwards: readonly Buffer[]
}

/** Asks a sound store. The damage may be in a chunk that waits: then it may be forgotten, and is not there afterwards. */
export function rightAnswers(store: SmallStore): RightAnswers {
  const variants = ['DELETE FROM meta WHERE 0', 'DELETE FROM waiting'].map((change, i) => {
    const copy = { ...store, file: `${store.file}.variant${i}` }
    copyFileSync(store.file, copy.file)
    const database = new DatabaseSync(copy.file)
    database.exec(change)
    database.close()
    return ask(copy)
  })
  const bytes = (question: string): Buffer[] =>
    variants.map((answers) => answers.get(question)?.bytes ?? Buffer.alloc(0))
  return {
    answers: variants[0] as Answers,
    received: bytes('receive'),
    afterwards: bytes('everything, after that'),
  }
}

export interface OpenLog {
  readonly writer: LogWriter
  readonly reader: LogReader
}

export function openLog(file: string): OpenLog {
  const writer = openWriter(file)
  try {
    return { writer, reader: new LogReader(file, writer.counts, ownKey.publicKey, systemClock) }
  } catch (error) {
    writer.close()
    throw error
  }
}

export function closeLog({ writer, reader }: OpenLog): void {
  reader.close()
  writer.close()
}

/** Selected events as lines, with the error that ended them early, if one did: what came before it has been used already. */
export function linesOf(reader: LogReader, selection: Selection): Answer {
  const lines = new NdjsonWriter(1 << 16)
  const pieces: Buffer[] = []
  const take = (): void => {
    pieces.push(Buffer.from(lines.written))
    lines.clear()
  }
  try {
    const cursor = new LogCursor(reader, selection)
    while (!cursor.run(lines)) take()
    take()
    return { bytes: Buffer.concat(pieces) }
  } catch (error) {
    take()
    return { bytes: Buffer.concat(pieces), error }
  }
}

function note(answers: Map<string, Answer>, question: string, work: () => string | Uint8Array): void {
  try {
    answers.set(question, { bytes: Buffer.from(work() as string) })
  } catch (error) {
    answers.set(question, { bytes: Buffer.alloc(0), error })
  }
}

function json(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part,
  )
}
