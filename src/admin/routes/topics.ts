import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { failure, ShoalError } from '../../base/errors.ts'
import type { Events } from '../../events/index.ts'
import type { NodeId } from '../../identity/index.ts'
import type { Settings } from '../../settings/index.ts'
import { deleteTopic, topicSizes } from '../../store/index.ts'
import { adminPath, invalid } from './requests.ts'

export interface TopicParts {
  readonly nodeId: NodeId
  /** The data folder. */
  readonly folder: string
  readonly settings: Settings
  /** The events of the current topic. */
  readonly events: () => Promise<Events>
  /** The name of the topic that is open; undefined while it is changed. */
  readonly openTopic: () => string | undefined
}

/** The topics of the data folder. */
export function topicRoutes({ nodeId, folder, settings, events, openTopic }: TopicParts): Route[] {
  const list = (): HttpResponse => {
    const activeTopic = settings.document.swarm.topic
    return jsonResponse(200, { nodeId, activeTopic, topics: topicSizes(folder, openTopic()) })
  }
  const remove = async (call: Call): Promise<HttpResponse> => {
    const topic = nameIn(call.path)
    // While the topic is changed, the former one may still be open.
    await events()
    const open = openTopic()
    if (open === undefined) throw failure('ERR_TOPIC_UNAVAILABLE', { topic, cause: 'the node changes its topic' })
    if (topic !== open && topic !== settings.document.swarm.topic)
      return jsonResponse(200, { nodeId, deleted: deleteTopic(folder, topic) })
    const active = `The topic '${topic}' is currently active and cannot be deleted`
    return jsonResponse(409, new ShoalError('ERR_INVALID_INPUT', active))
  }
  const path = `${adminPath}/topics`
  return [
    { path, methods: { GET: { authenticated: true, handle: list } } },
    { path: `${path}/*`, methods: { DELETE: { authenticated: true, handle: remove } } },
  ]
}

function nameIn(path: string): string {
  const part = path.slice(`${adminPath}/topics/`.length)
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalid(`'${part}' is not the name of a topic.`)
  }
}
