// Appends single events, from one caller and from many, in rounds. Prints milliseconds per event.
import { parseArgs } from 'node:util'
import { EventSource } from './events.ts'
import { interleave, LoopWatch, timeAsync } from './measure.ts'
import { Workspace } from './workspace.ts'

const { values } = parseArgs({ options: { callers: { type: 'string', default: '256' } } })
const callers = Number(values.callers)
const rounds = 7
const perCaller = { one: 200, many: 20 } as const

export interface GroupResult {
  /** Milliseconds per event, by round. */
  readonly one: readonly number[]
  readonly many: readonly number[]
  readonly loopP99: number
}

const source = new EventSource({ unique: false })
const watch = new LoopWatch()
const workspace = new Workspace()
await workspace.withStore(async (store) => {
  const measure = async (count: number, each: number): Promise<number> => {
    const requests = Array.from({ length: count }, () => source.requests(each, 1))
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
  const { one, many } = await interleave(rounds, {
    one: () => measure(1, perCaller.one),
    many: () => measure(callers, perCaller.many),
  })
  const [[, loopP99] = ['', Number.NaN]] = watch.p99()
  console.log(JSON.stringify({ one, many, loopP99 } satisfies GroupResult))
})
