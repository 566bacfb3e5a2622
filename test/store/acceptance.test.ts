import { nowMicros } from '../../src/runtime/clock.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { complete, openSqlite, settling } from './acceptance/sqlite.ts'
import { acceptanceSuite, hintsSuite } from './acceptance.ts'

acceptanceSuite('in memory', async (_, options) => new MemoryEventStore({ ...complete(options), now: nowMicros }))
acceptanceSuite('SQLite', openSqlite)
// With few events there is nothing to seal.
const openSealed = async (...args: Parameters<typeof openSqlite>) => settling(await openSqlite(...args))
acceptanceSuite('SQLite, sealed', openSealed, 'large')
hintsSuite('SQLite', openSqlite)
hintsSuite('SQLite, sealed', openSealed, 'large')
