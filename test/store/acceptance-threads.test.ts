import { openSqlite } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

acceptanceSuite('SQLite', openSqlite)
