import { blobDescriptions } from './descriptions/blobs.ts'
import type { Descriptions } from './descriptions/description.ts'
import { eventDescriptions } from './descriptions/events.ts'
import { fileDescriptions } from './descriptions/files.ts'
import { nodeDescriptions } from './descriptions/node.ts'

export type { Description } from './descriptions/description.ts'

/** All operations, in the order of the document. */
export const descriptions: Descriptions = {
  ...nodeDescriptions,
  ...eventDescriptions,
  ...fileDescriptions,
  ...blobDescriptions,
}
