import { existsSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { makeFolders } from '../../store/index.ts'
import { closedEarly, type FilesNode } from './files-node.ts'

export interface Listing {
  readonly directory: {
    readonly name: string
    readonly cid: string
    readonly children: readonly { readonly name: string; readonly cid: string; readonly size: number }[]
  }
}

/** Progress of a download. */
export interface Downloaded {
  files: number
  bytes: number
  /** The bytes of all files together; undefined for a directory. */
  all: number | undefined
}

/** Names that would escape the target folder (path traversal): names in a directory are untrusted. */
const unwritable = sep === '/' ? /^\.{0,2}$|[/\0]/ : /^\.{0,2}$|[/\\:\0]/

/** The path of an address below `/files`: a content identifier or name, and a path below it. */
export function addressPath(address: string): string {
  return `/${address.split('/').map(encodeURIComponent).join('/')}`
}

/** Requests the content at an address. */
function fetchAddress(node: FilesNode, address: string): Promise<IncomingMessage> {
  const [root = ''] = address.split('/')
  if (root === '')
    throw new ShoalError('ERR_INVALID_INPUT', `\`${address}\` does not begin with a name or a content identifier`)
  const explained = {
    ERR_METHOD_NOT_ALLOWED: `There is no name '${root}', and it is not a content identifier. \`shoal files ls\` lists all names.`,
    ERR_NOT_FOUND: `There is nothing at '${address}', or it is not on this node.`,
  }
  return node.stream({ method: 'GET', path: addressPath(address), explained })
}

/** The listing of a directory; nothing for a file. */
export async function listingOf(node: FilesNode, address: string): Promise<Listing | undefined> {
  const response = await fetchAddress(node, address)
  if (!isFile(response)) return await node.json<Listing>(response)
  response.destroy()
  return undefined
}

/** Downloads a file, or a directory recursively, to a target that must not exist. */
export async function download(
  node: FilesNode,
  address: string,
  target: string,
  progress: (done: Downloaded) => void,
): Promise<Downloaded> {
  const response = await fetchAddress(node, address)
  const done: Downloaded = { files: 0, bytes: 0, all: undefined }
  if (isFile(response)) {
    done.all = Number(response.headers['content-length'])
    await saveFile(response, address, target, done, progress)
  } else await saveFolder(node, await node.json<Listing>(response), address, target, done, progress)
  return done
}

async function saveFile(
  response: IncomingMessage,
  address: string,
  target: string,
  done: Downloaded,
  progress: (done: Downloaded) => void,
): Promise<void> {
  const counted = async function* (): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        done.bytes += chunk.length
        progress(done)
        yield chunk
      }
    } catch (error) {
      throw closedEarly(address, messageOf(error))
    }
  }
  const output = target === '-' ? process.stdout : await newFile(target)
  try {
    await pipeline(counted, output, { end: target !== '-' })
  } catch (error) {
    // A truncated file would look complete.
    if (target !== '-') rmSync(target, { force: true })
    throw error instanceof ShoalError ? error : cannotWrite(target, error)
  }
  done.files++
}

async function saveFolder(
  node: FilesNode,
  { directory }: Listing,
  address: string,
  target: string,
  done: Downloaded,
  progress: (done: Downloaded) => void,
): Promise<void> {
  if (target === '-') throw new ShoalError('ERR_INVALID_INPUT', `${address} is a directory; name a folder for it`)
  if (existsSync(target)) throw alreadyExists(target)
  newFolder(target)
  for (const { name } of directory.children) {
    if (unwritable.test(name))
      throw new ShoalError('ERR_IO', `\`${address}\` has an entry named '${name}', which cannot be written`)
    // By CID: the name may have been bound to other content meanwhile.
    const entry = `${directory.cid}/${name}`
    const response = await fetchAddress(node, entry)
    if (isFile(response)) await saveFile(response, entry, join(target, name), done, progress)
    else await saveFolder(node, await node.json<Listing>(response), entry, join(target, name), done, progress)
  }
}

/** Only file responses have an ETag. */
function isFile({ headers }: IncomingMessage): boolean {
  return headers.etag !== undefined
}

async function newFile(target: string): Promise<NodeJS.WritableStream> {
  if (existsSync(target)) throw alreadyExists(target)
  try {
    return (await open(target, 'wx')).createWriteStream()
  } catch (error) {
    throw cannotWrite(target, error)
  }
}

function newFolder(target: string): void {
  try {
    makeFolders(resolve(target))
  } catch (error) {
    throw cannotWrite(target, error)
  }
}

function cannotWrite(target: string, error: unknown): ShoalError {
  return new ShoalError('ERR_IO', `cannot write \`${target}\``, { cause: error })
}

function alreadyExists(target: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
}
