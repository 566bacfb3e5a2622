import { systemRandom } from '../../src/runtime/random.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { median } from '../start/statistics.ts'
import { interleave, time } from './measure.ts'
import type { OpenResult } from './open-process.ts'
import { atMost, duration, figure, type Line, large } from './report.ts'
import type { StoreFile, Workspace } from './workspace.ts'

const rounds = 7

interface Store extends StoreFile {
  readonly events: number
}

/**
 * Opening a store, relative to one with a tenth of its events: with all threads in its own process, and the log alone.
 */
export async function opening(workspace: Workspace, whole_: Store, small: Store): Promise<Line[]> {
  const rss: Record<'whole' | 'tenth', number[]> = { whole: [], tenth: [] }
  const open = async (name: 'whole' | 'tenth', { file, key }: Store): Promise<number> => {
    const { ms, rssMb } = (await workspace.run('open-process.ts', [file, key.toPrivateText()])) as OpenResult
    rss[name].push(rssMb)
    return ms
  }
  const { whole, tenth, wholeLog, tenthLog } = await interleave(rounds, {
    whole: () => open('whole', whole_),
    tenth: () => open('tenth', small),
    wholeLog: () => openLog(whole_),
    tenthLog: () => openLog(small),
  })
  const bareName = `with ${large(small.events)} events`
  return [
    duration({ name: `opening ${large(whole_.events)} events`, goal: atMost(2), ours: whole, bare: tenth, bareName }),
    duration({ name: '… the log alone', goal: atMost(2), ours: wholeLog, bare: tenthLog, bareName }),
    figure(
      '… memory more',
      median(rss.whole) - median(rss.tenth),
      'MB',
      atMost(60),
      `${median(rss.whole).toFixed(0)} MB`,
      `${bareName}: ${median(rss.tenth).toFixed(0)} MB`,
    ),
  ]
}

function openLog({ file, key }: StoreFile): number {
  let writer: LogWriter | undefined
  const ms = time(() => {
    writer = new LogWriter({
      file,
      topic: 'bench',
      kind: 'live',
      key,
      now: () => Date.now() * 1000,
      random: systemRandom,
    })
  })
  writer?.close()
  return ms
}
