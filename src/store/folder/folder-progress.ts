/** How far work on all databases of a data folder has come. */
export interface FolderStep {
  /** What is being worked on. */
  readonly text: string
  /** Bytes of the databases that are finished, and of all. */
  readonly done: number
  readonly all: number
}

export type FolderProgress = (step: FolderStep) => void
