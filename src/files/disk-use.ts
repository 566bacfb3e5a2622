import type { DiskUse } from '../store/index.ts'
import type { FileStore } from './thread/index.ts'

/** The disk work of the calls of the files thread. Of an upload, only the commit proves that the disk works. */
export const diskUse: Omit<DiskUse<FileStore>, 'notify'> = {
  work: {
    addChunks: 'upload',
    endFile: 'upload',
    makeFolder: 'upload',
    commitUpload: 'upload',
    endUpload: 'upload',
    apply: 'upload',
    discardLeftovers: 'upload',
    pinResults: 'upload',
    pinMoreResults: 'upload',
    beginUpload: 'upload',
    collect: 'evict',
    find: 'download',
    findSite: 'download',
    read: 'download',
    askBlock: 'download',
    names: 'download',
    cidOf: 'download',
    isUploaded: 'download',
    queries: 'download',
    appliedOffsets: 'download',
  },
  proof: new Set(['commitUpload', 'pinResults', 'collect', 'find', 'findSite', 'read', 'names', 'appliedOffsets']),
}
