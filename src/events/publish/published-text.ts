import type { NodeId } from '../../identity/index.ts'
import type { Appended } from '../../store/index.ts'

/** The answer to a publish call as JSON text: for each event, in the order of the call, what it got. */
export function publishedText(node: NodeId, { lamport, time, runs }: Appended): string {
  let text = '{"data":['
  let open = '{"lamport":'
  let next = lamport
  // Pieces that are made once: putting few of them together is what takes time.
  const end = `,"timestamp":${time}}`
  for (const { stream, offset, count } of runs) {
    const middle = `,"stream":"${node}-${stream}","offset":`
    for (let i = 0; i < count; i++) {
      text += `${open}${next++}${middle}${offset + i}${end}`
      open = ',{"lamport":'
    }
  }
  return `${text}]}`
}
