import { openSqlite, settling } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

// With few events there is nothing to seal.
const openSealed = async (...args: Parameters<typeof openSqlite>) => settling(await openSqlite(...args))
acceptanceSuite('SQLite, sealed', openSealed, 'large')
