import { openMemory, openSingleThread, openSqlite, openWithReaders, settling } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

acceptanceSuite('in memory', openMemory)
acceptanceSuite('SQLite', openSqlite)
acceptanceSuite('SQLite in one thread', openSingleThread)
acceptanceSuite('SQLite with three reader threads', openWithReaders, 'jobs')
// With few events there is nothing to seal.
const openSealed = async (...args: Parameters<typeof openSqlite>) => settling(await openSqlite(...args))
acceptanceSuite('SQLite, sealed', openSealed, 'large')
