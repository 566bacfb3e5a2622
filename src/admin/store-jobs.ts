import { existsSync, rmSync } from 'node:fs'
import { failure, ShoalError } from '../base/errors.ts'
import type { Files } from '../files/index.ts'
import type { NodeId } from '../identity/index.ts'
import type { Clock } from '../runtime/clock.ts'
import {
  backUpInThread,
  copyIdentity,
  type FolderJob,
  type FolderProgress,
  type NodeDatabase,
  type Verified,
  verifyInThread,
} from '../store/index.ts'

export interface StoreJobParts {
  readonly nodeId: NodeId
  /** The data folder. */
  readonly folder: string
  readonly nodeDatabase: NodeDatabase
  /** The files of the current topic. */
  readonly files: () => Promise<Files>
  /** The name of the topic that is open; undefined while it is changed. */
  readonly openTopic: () => string | undefined
  readonly clock: Clock
}

/** The result of a backup. */
export interface BackedUp {
  readonly target: string
  readonly topics: number
}

/** Verifies and backs up the store of the running node, one job at a time. */
export class StoreJobs {
  readonly #parts: StoreJobParts
  #isBusy = false

  constructor(parts: StoreJobParts) {
    this.#parts = parts
  }

  verify(progress: FolderProgress): FolderJob<Verified> {
    const { folder, nodeId, nodeDatabase } = this.#parts
    return this.#run(
      () => verifyInThread(folder, nodeId, progress),
      ({ problems, reports }) => {
        const ofNode = nodeDatabase.problems().map((problem) => `node.db: ${problem}`)
        return { problems: [...ofNode, ...problems], reports }
      },
    )
  }

  /** Backs up into a new data folder, which is removed if the backup fails. */
  backUp(target: string, progress: FolderProgress): FolderJob<BackedUp> {
    const { folder, nodeDatabase, clock } = this.#parts
    if (existsSync(target)) throw new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
    const job = this.#run(
      () => backUpInThread({ folder, target, now: clock.now() }, progress),
      ({ topics }) => {
        copyIdentity(folder, target, nodeDatabase)
        return { target, topics }
      },
    )
    const result = job.result.catch((error) => {
      rmSync(target, { recursive: true, force: true })
      throw error
    })
    return { ...job, result }
  }

  #run<R, T>(start: () => FolderJob<R>, finish: (result: R) => T): FolderJob<T> {
    if (this.#isBusy)
      throw new ShoalError(
        'ERR_SERVICE_OVERLOADED',
        'Another verification or backup of this node is running. Try again.',
      )
    this.#isBusy = true
    let running: FolderJob<R> | undefined
    let isCancelled = false
    const work = (): Promise<R> => {
      if (isCancelled) throw failure('ERR_SHUTTING_DOWN', {})
      running = start()
      return running.result
    }
    const result = this.#inOneTopic(work)
      .then(finish)
      .finally(() => {
        this.#isBusy = false
      })
    const cancel = (): void => {
      isCancelled = true
      running?.cancel()
    }
    return { result, cancel }
  }

  /** Fails if the topic has changed meanwhile: only the blocks of the first topic were held. */
  async #inOneTopic<R>(work: () => Promise<R>): Promise<R> {
    const { files, openTopic } = this.#parts
    const held = await files()
    const topic = openTopic() ?? ''
    const result = await held.whileHeld(work)
    if (openTopic() !== topic)
      throw failure('ERR_TOPIC_UNAVAILABLE', { topic, cause: 'the node has changed its topic meanwhile' })
    return result
  }
}
