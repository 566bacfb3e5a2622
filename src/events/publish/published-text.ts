import type { NodeId } from '../../identity/index.ts'
import type { Appended } from '../../store/index.ts'

/** The answer to a publish call as JSON text: for each event, in the order of the call, what it got. */
export function publishedText(node: NodeId, { lamport, time, runs }: Appended): string {
  let text = '{"data":['
  let next = lamport
  for (const { stream, offset, count } of runs)
    for (let i = 0; i < count; i++) {
      if (next > lamport) text += ','
      text += `{"lamport":${next++},"stream":"${node}-${stream}","offset":${offset + i},"timestamp":${time}}`
    }
  return `${text}]}`
}
