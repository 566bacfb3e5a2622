import type { EventSink, Selection } from '../../src/store/port/index.ts'
import { LogCursor, type LogReader } from '../../src/store/sqlite/index.ts'
import { name } from './ledger.ts'

/** An event that was read, with its stream number. */
export interface Found {
  readonly stream: number
  readonly offset: number
  readonly lamport: number
  readonly time: number
  readonly appId: string
  readonly tags: readonly string[]
  readonly payload: string
}

export function nameOf({ stream, offset }: Found): string {
  return name(stream, offset)
}

export function readEvents(reader: LogReader, selection: Selection, take: (found: Found) => void): void {
  const sink: EventSink = {
    event({ key }, block, index) {
      const { appId, tags } = block.labels(index)
      take({
        stream: key.number,
        offset: block.first + index,
        lamport: block.lamports[index] as number,
        time: block.times[index] as number,
        appId,
        tags,
        payload: block.payload(index),
      })
      return true
    },
  }
  const cursor = new LogCursor(reader, selection)
  while (!cursor.run(sink));
}

/** The event at an offset; undefined if it is pruned or redacted. */
export function readEvent(reader: LogReader, stream: number, offset: number): Found | undefined {
  const number = reader.streams().find(({ key }) => key.number === stream)?.number ?? -1
  let found: Found | undefined
  const bounds = { lower: new Map([[number, offset - 1]]), upper: new Map([[number, offset]]) }
  readEvents(reader, { anyOf: [{ tags: [] }], order: 'asc', ...bounds }, (event) => {
    found = event
  })
  return found
}
