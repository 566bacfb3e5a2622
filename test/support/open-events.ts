import { Events, type EventsOptions, readerModule } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { key, nodeId, silent } from './api.ts'

/** The events of the test node, in the log of a file. */
export async function openEvents(file: string, streams: EventsOptions['streams'] = {}): Promise<Events> {
  const runtime = systemRuntime
  const store = await SqliteEventStore.open({ runtime, file, topic: 't', kind: 'live', key, readerModule })
  const startReading: SqliteEventStore['start'] = (job, request) => store.start(job, request)
  return await Events.open(store, { ...runtime, node: nodeId, routes: [], streams, log: silent, startReading })
}
