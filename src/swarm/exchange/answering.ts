import { limits } from '../../base/limits.ts'
import { nameOfStream } from '../../replication/index.ts'
import type { Effect, Sync } from '../../sync/index.ts'
import { AnswerQueue } from './answer-queue.ts'
import type { PeerAnswers } from './peer-answers.ts'

/** A request of a peer that is to be answered. */
export type AnswerEffect = Extract<Effect, { do: 'read' | 'read-records' | 'read-evidence' | 'find-common' }>

export interface AnsweringOptions {
  readonly answers: PeerAnswers
  readonly sync: Sync
  /** Carries out what follows. */
  readonly apply: (effects: readonly Effect[]) => void
  readonly onFailure: (error: unknown) => void
}

/** Answers the requests of peers, as fast as they take the answers. */
export class Answering {
  readonly #options: AnsweringOptions
  readonly #queue = new AnswerQueue()

  constructor(options: AnsweringOptions) {
    this.#options = options
  }

  of(peer: string): ReturnType<AnswerQueue['of']> {
    return this.#queue.of(peer)
  }

  connected(peer: string): void {
    this.#queue.connected(peer)
  }

  congested(peer: string, isCongested: boolean): void {
    this.#queue.congested(peer, isCongested)
  }

  drop(peer: string): void {
    this.#queue.drop(peer)
  }

  add(effect: AnswerEffect): void {
    const { peer, id, stream } = effect
    const { apply, sync } = this.#options
    this.#queue.add({
      peer,
      stream: nameOfStream(stream),
      bytes: effect.do === 'read' ? effect.bytes : limits.smallAnswerBytes,
      answer: async (bytes, isGone) => {
        const effects = await this.#answer(effect.do === 'read' ? { ...effect, bytes } : effect, isGone)
        apply(effects)
        return sizeOfAnswer(effects)
      },
      supersede: () => apply(sync.superseded(peer, id)),
    })
  }

  async #answer(effect: AnswerEffect, isGone: () => boolean): Promise<Effect[]> {
    const { sync, onFailure } = this.#options
    try {
      const answer = await this.#read(effect)
      return isGone() ? [] : answer()
    } catch (error) {
      // Without an answer the peer would count as one that asks too much.
      onFailure(error)
      return isGone() ? [] : sync.cannotAnswer(effect.peer, effect.id)
    }
  }

  /** Reads an answer. What is returned sends it. */
  async #read(effect: AnswerEffect): Promise<() => Effect[]> {
    const { answers, sync } = this.#options
    const { peer, id } = effect
    switch (effect.do) {
      case 'read': {
        const result = await answers.events(effect)
        return () => sync.read(peer, id, result)
      }
      case 'read-records': {
        const records = await answers.records(effect)
        return () => sync.readRecords(peer, id, records)
      }
      case 'read-evidence': {
        const record = await answers.evidence(effect.stream)
        return () => sync.readEvidence(peer, id, record)
      }
      case 'find-common': {
        const count = await answers.common(effect)
        return () => sync.foundCommon(peer, id, count)
      }
    }
  }
}

/** The bytes of chunks, records and evidence in an answer. */
function sizeOfAnswer(effects: readonly Effect[]): number {
  let size = 0
  for (const effect of effects) {
    if (effect.do !== 'send') continue
    const { message } = effect
    if (message.is === 'chunk') size += message.chunk.length
    else if (message.is === 'evidence') size += message.record.length
    else if (message.is === 'records') for (const { length } of message.redactions) size += length
  }
  return size
}
