import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { limits } from '../../base/limits.ts'
import type { Events } from '../../events/index.ts'
import { formatStreamId, parseStreamId } from '../../identity/index.ts'
import { adminPath, invalid, jsonBody, requiredMember } from './requests.ts'

interface RedactionParts {
  /** The events of the current topic. */
  readonly events: () => Promise<Events>
}

/** Redacts events of streams of this node. */
export function redactionRoutes({ events }: RedactionParts): Route[] {
  const redact = async (call: Call): Promise<HttpResponse> => {
    const body = await jsonBody(call)
    const text = requiredMember(body, 'stream', 'the ID of the stream, <node ID>-<number>')
    if (typeof text !== 'string') throw invalid('stream: not a string. Allowed: a stream ID, <node ID>-<number>.')
    const stream = parseStreamId(text)
    const offsets = offsetsIn(requiredMember(body, 'offsets', 'the offsets of the events in the stream'))
    const done = await (await events()).redact(stream, offsets)
    return jsonResponse(200, { stream: formatStreamId(stream), ...done })
  }
  return [
    {
      path: `${adminPath}/events/redact`,
      methods: { POST: { authenticated: true, consumes: 'json', handle: redact } },
    },
  ]
}

function offsetsIn(given: unknown): number[] {
  const most = limits.redactedPerRequest
  const isList = Array.isArray(given) && given.length > 0 && given.length <= most
  if (!isList || !given.every((offset) => Number.isSafeInteger(offset) && offset >= 0))
    throw invalid(`offsets: not allowed. Allowed: a list of 1 to ${most} offsets, which are integers from 0.`)
  return given as number[]
}
