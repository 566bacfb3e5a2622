import type { TopicContext } from './streams.ts'

type Topic = Pick<TopicContext, 'kind'>

/** Whether a topic is exchanged with other nodes: an imported one has no signatures, so no node could verify it. */
export function isReplicated({ kind }: Topic): boolean {
  return kind === 'live'
}

/** Whether a node tells others what it has. A read-only node only receives: what is published there stays there. */
export function isAnnounced(topic: Topic, { readOnly }: { readonly readOnly: boolean }): boolean {
  return isReplicated(topic) && !readOnly
}
