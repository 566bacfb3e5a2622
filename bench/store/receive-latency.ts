import { EventSource } from './events.ts'
import { chunksOf } from './received-chunks.ts'
import { atMost, figure, type Line, millis } from './report.ts'
import type { Workspace } from './workspace.ts'

const publishes = 400
const rounds = 3
const chunksPerCall = 8
const chunksPerStream = 512

/** The latency of publishing one event, alone and while chunks are received at full speed. */
export async function publishLatency(workspace: Workspace): Promise<Line[]> {
  const chunks = await chunksOf(chunksPerStream, 128)
  const source = new EventSource({ unique: false })
  const alone: number[] = []
  const beside: number[] = []
  let received = 0
  for (let round = 0; round < rounds; round++)
    await workspace.withStore(async (store) => {
      const publish = async (into: number[]): Promise<void> => {
        for (const request of source.requests(publishes, 1)) {
          const start = performance.now()
          await store.append(request)
          into.push(performance.now() - start)
        }
      }
      await publish([])
      await publish(alone)
      let isDone = false
      let next = 0
      // Two calls at a time keep both the verifier and the writer busy.
      const receive = async (): Promise<void> => {
        while (!isDone && next < chunks.length) {
          const given = chunks.slice(next, next + chunksPerCall).map((bytes) => ({ bytes }))
          next += chunksPerCall
          received += (await store.receiveAll(given)).answers.length
        }
      }
      const receives = [receive(), receive()]
      await publish(beside)
      isDone = true
      await Promise.all(receives)
    })
  const [p99, p99Alone] = [percentile99(beside), percentile99(alone)]
  const measured = `${millis(p99)}, ${received} chunks`
  return [
    figure('publishing while receiving, p99', p99 / p99Alone, '×', atMost(2), measured, `alone: ${millis(p99Alone)}`),
  ]
}

function percentile99(ms: readonly number[]): number {
  return ms.toSorted((a, b) => a - b)[Math.floor(0.99 * ms.length)] as number
}
