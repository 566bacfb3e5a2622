import { threadModule } from '../../runtime/thread-module.ts'

/** The module of the files thread. */
export const filesModule = threadModule('files-thread', import.meta.url)

export type { StandingQuery } from './catalogue.ts'
export type { Child, Content } from './content.ts'
export type { FileStore, Found, NamedContent, PinnedContent } from './file-store.ts'
export type { FilesData } from './files-thread.ts'
export type { ArrivedBlock } from './shared-blocks.ts'
export type { UploadedFile } from './uploads.ts'
