// Appends single events from one and from many callers, interleaved with bare commits. Prints milliseconds per event.
import { parseArgs } from 'node:util'
import { BareRows } from './bare.ts'
import { EventSource, recordOf } from './events.ts'
import { collectGarbage, interleave, LoopWatch, time, timeAsync } from './measure.ts'
import { Workspace } from './workspace.ts'

const { values } = parseArgs({ options: { callers: { type: 'string', default: '256' } } })
const callers = Number(values.callers)
const rounds = 7
const perCaller = { one: 200, many: 20 } as const

export interface GroupResult {
  /** Milliseconds per event, by round. */
  readonly one: readonly number[]
  readonly many: readonly number[]
  readonly bare: readonly number[]
  readonly loopP99: number
}

const source = new EventSource({ unique: false })
const watch = new LoopWatch()
const workspace = new Workspace()
await workspace.withStore(async (store) => {
  const measure = async (count: number, each: number): Promise<number> => {
    const requests = Array.from({ length: count }, () => source.requests(each, 1))
    collectGarbage()
    const ms = await watch.during('group', () =>
      timeAsync(() =>
        Promise.all(
          requests.map(async (list) => {
            for (const request of list) await store.append(request)
          }),
        ),
      ),
    )
    return ms / (count * each)
  }
  const rows = new BareRows(workspace.newFile())
  const commit = (): number => {
    const records = source.requests(perCaller.one, 1).map(recordOf)
    collectGarbage()
    const ms = time(() => {
      for (const record of records) rows.commit(record)
    })
    return ms / perCaller.one
  }
  const { one, many, bare } = await interleave(rounds, {
    one: () => measure(1, perCaller.one),
    many: () => measure(callers, perCaller.many),
    bare: commit,
  })
  rows.close()
  const [[, loopP99] = ['', Number.NaN]] = watch.p99()
  console.log(JSON.stringify({ one, many, bare, loopP99 } satisfies GroupResult))
})
