import { openLinked } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

acceptanceSuite('SQLite, linked to another thread', openLinked, 'exchange')
