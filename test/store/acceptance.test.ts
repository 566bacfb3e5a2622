import { nowMicros } from '../../src/runtime/clock.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { complete, openSqlite, settling } from './acceptance/sqlite.ts'
import { acceptanceSuite } from './acceptance.ts'

acceptanceSuite('in memory', async (_, options) => new MemoryEventStore({ ...complete(options), now: nowMicros }))
acceptanceSuite('SQLite', openSqlite)
// With few events there is nothing to seal.
acceptanceSuite('SQLite, sealed', async (test, options) => settling(await openSqlite(test, options)), 'large')
