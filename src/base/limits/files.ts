/** Limits of files: uploads, standing queries, and the exchange of blocks with peers. */
export const fileLimits = {
  /** Maximum size of a message of the exchange of blocks: a block of 512 KiB and its envelope. */
  exchangeMessageBytes: 512 * 1024 + 128,
  /** Maximum size of a content identifier in a message; those of blocks have 36 bytes. */
  cidBytes: 64,
  /** Maximum number of content identifiers in a message. */
  cidsPerMessage: 256,
  /** Wanted blocks that are listed at a time, and those that become wanted by one block and are asked for at once. */
  wantsPerList: 128,
  /** Wanted blocks that a node considers at the same time; the store lists further ones later. */
  consideredWants: 512,
  /** Downloads of blocks from other nodes in progress, per peer; each may bring a block of 512 KiB. */
  blockRequestsPerPeer: 16,
  /** Downloads of blocks from other nodes in progress, over all peers: at most 32 MiB. */
  blockRequests: 64,
  /** Milliseconds without any answer of a peer after which a second one is asked for the same block. */
  secondBlockSourceMs: 2000,
  /** Blocks for which second peers are asked at the same time, because of one peer that does not answer. */
  secondBlockSources: 4,
  /** Answers of a peer to later requests after which a request for a block counts as not answered. */
  overtakenBlockRequests: 64,
  /** Requests for blocks of one peer that wait to be answered; a peer with more is disconnected. */
  blockRequestsServed: 64,
  /** Bytes of blocks that are being read for one peer or wait to be sent to it. */
  servedBlockBytesPerPeer: 1024 * 1024,
  /** Bytes of blocks that are being read for peers or wait to be sent, over all peers. */
  servedBlockBytes: 16 * 1024 * 1024,
  /** Blocks that a peer has said that it has or does not have, or has asked for in vain, that a node remembers, each. */
  rememberedBlocksPerPeer: 4096,
  /** Blocks of a peer that were not asked for, at which its session is closed. */
  unaskedBlocks: 64,
  /** Blocks that peers have asked for in vain, which the files thread looks for after an upload. */
  missedBlocks: 1024,
  /** Milliseconds after which a peer that did not have a block may be asked for it again. */
  blockNotHereMs: 30_000,
  /** Shortest pause of requests to a peer after a request has timed out, in milliseconds; doubled each time. */
  minBlockPauseMs: 1000,
  /** Longest pause of requests to a peer that does not answer, in milliseconds. */
  maxBlockPauseMs: 60_000,
  /** Shortest time between two searches for wanted blocks when there may be new ones, in milliseconds. */
  newWantScanMs: 100,
  /** Shortest interval between two searches for all wanted blocks, in milliseconds; doubled while none arrives. */
  minWantScanMs: 1000,
  /** Longest interval between two searches for all wanted blocks, in milliseconds. */
  maxWantScanMs: 300_000,
  /** Milliseconds after which fetching is tried again when the store has failed or the disk was full. */
  blockStoreRetryMs: 10_000,
  /** Free disk space below which no blocks of other nodes are fetched; on small disks a twentieth of the disk. */
  diskReserveBytes: 1024 * 1024 * 1024,
  /** Blocks for which downloads wait at the same time; further downloads of missing content fail at once. */
  awaitedBlocks: 256,
  /** Maximum size of a blob that an app stores on its node. */
  blobBytes: 10 * 1024 * 1024,
  /** Maximum size of a blob after compression. */
  compressedBlobBytes: 1024 * 1024,
  /** Maximum size of the multipart body of a file upload. */
  uploadBytes: 128 * 1024 * 1024,
  /** Maximum number of concurrent uploads. */
  concurrentUploads: 64,
  /** Maximum number of files in an upload. */
  filesPerUpload: 20_000,
  /** Maximum number of directories in an upload. */
  foldersPerUpload: 20_000,
  /** Maximum size of the headers of a multipart part. */
  partHeaderBytes: 16 * 1024,
  /** Maximum size of the path of an uploaded file. */
  filePathBytes: 4096,
  /** Maximum size of all file paths of an upload together. */
  pathBytesPerUpload: 4 * 1024 * 1024,
  /** Maximum number of unnamed uploads in a listing, newest first. */
  uploadsListed: 1000,
  /** Maximum size of a file name. */
  fileNameBytes: 255,
  /** Maximum number of evicted blocks that the store remembers. */
  evictedBlocks: 100_000,
  /** Milliseconds before the subscription to file events is retried after a failure. */
  resubscribeMs: 5000,
  /** Maximum number of standing queries that pin files, one per app. */
  standingQueries: 256,
  /** Maximum number of files and directories that one standing query pins. */
  standingQueryResults: 100_000,
} as const
