import { openMemory, openSingleThread, openWithReaders } from './acceptance/stores.ts'
import { acceptanceSuite } from './acceptance.ts'

acceptanceSuite('in memory', openMemory)
acceptanceSuite('SQLite in one thread', openSingleThread)
acceptanceSuite('SQLite with three reader threads', openWithReaders, 'jobs')
