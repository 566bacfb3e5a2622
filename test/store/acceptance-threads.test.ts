import { openSqlite } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

// What is exchanged with other nodes goes through a link: see acceptance-linked.test.ts.
acceptanceSuite('SQLite', openSqlite, 'others')
