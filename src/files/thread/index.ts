import { threadModule } from '../../thread-module.ts'

/** The module for the thread that keeps files. */
export const filesModule = threadModule('files-thread', import.meta.url)
