import { decode, encode } from '@ipld/dag-pb'
import type { CID } from 'multiformats/cid'
import { messageOf } from '../../base/errors.ts'
import { cidOf } from './cid.ts'
import { decodeUnixFs, encodeUnixFs, MalformedUnixFs, type UnixFsData } from './unixfs-data.ts'

/** A block with its CID. */
export interface Block {
  readonly cid: CID
  readonly bytes: Uint8Array
  readonly links: readonly Link[]
}

export interface Link {
  readonly cid: CID
  /** Empty for links of files. */
  readonly name: string
  /** The cumulative size of the linked DAG (Tsize); for a file in a directory, the size of the file. */
  readonly size: number
}

/** A decoded block. */
export interface DecodedBlock {
  readonly data: UnixFsData
  readonly links: readonly Link[]
  /** The encoded length in bytes. */
  readonly length: number
}

export function makeBlock(data: UnixFsData, links: readonly Link[]): Block {
  const bytes = encode({
    Data: encodeUnixFs(data),
    Links: links.map(({ cid, name, size }) => ({ Hash: cid, Name: name, Tsize: size })),
  })
  return { cid: cidOf(bytes), bytes, links }
}

export function readBlock(bytes: Uint8Array): DecodedBlock {
  const node = decoded(bytes)
  if (node.Data === undefined) throw new MalformedUnixFs('it has no data')
  const data = decodeUnixFs(node.Data)
  const links = node.Links.map(({ Hash, Name = '', Tsize = 0 }) => ({ cid: Hash.toV1(), name: Name, size: Tsize }))
  if (data.type === 'file' && data.blockSizes.length !== links.length)
    throw new MalformedUnixFs('not every link has a size')
  return { data, links, length: bytes.length }
}

function decoded(bytes: Uint8Array): ReturnType<typeof decode> {
  try {
    return decode(bytes)
  } catch (error) {
    throw new MalformedUnixFs(messageOf(error), { cause: error })
  }
}

/** The size of a block and of everything it links to. */
export function cumulativeSize({ bytes, links }: Block): number {
  return links.reduce((sum, { size }) => sum + size, bytes.length)
}
