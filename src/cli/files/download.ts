import { createWriteStream, existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../base/errors.ts'
import { makeFolders } from '../../store/index.ts'
import type { ApiClient } from '../api-client.ts'
import { explainError } from './explain-error.ts'

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
}

/** Names in a directory are untrusted: these would escape the target folder (path traversal). */
const unwritable = sep === '/' ? /^\.{0,2}$|[/\0]/ : /^\.{0,2}$|[/\\:\0]/

const asJson = { headers: { accept: 'application/json' } }

/** The API path of an address: a content identifier or name, and a path below it. */
export function addressPath(address: string): string {
  return `/api/v2/files/${address.split('/').map(encodeURIComponent).join('/')}`
}

/** Requests the content at an address. */
function fetchAddress(client: ApiClient, address: string): Promise<IncomingMessage> {
  const [root = ''] = address.split('/')
  if (root === '')
    throw new ShoalError('ERR_INVALID_INPUT', `\`${address}\` does not begin with a name or a content identifier`)
  return explainError(client.get(addressPath(address), asJson), {
    ERR_METHOD_NOT_ALLOWED: `There is no name '${root}', and it is not a content identifier. \`shoal files ls\` lists all names.`,
    ERR_NOT_FOUND: `There is nothing at '${address}', or it is not on this node.`,
  })
}

/** The listing of a directory; nothing for a file. */
export async function listingOf(client: ApiClient, address: string): Promise<Listing | undefined> {
  const response = await fetchAddress(client, address)
  if (!isFile(response)) return await client.json<Listing>(response)
  response.destroy()
  return undefined
}

/** Downloads a file, or a directory recursively, to a target that must not exist. */
export async function download(
  client: ApiClient,
  address: string,
  target: string,
  done: Downloaded,
  progress: (done: Downloaded) => void,
): Promise<void> {
  const response = await fetchAddress(client, address)
  if (isFile(response)) {
    await pipeline(response, target === '-' ? process.stdout : newFile(target), { end: target !== '-' })
    done.files++
    done.bytes += Number(response.headers['content-length'])
    progress(done)
    return
  }
  const { directory } = await client.json<Listing>(response)
  if (target === '-') throw new ShoalError('ERR_INVALID_INPUT', `${address} is a directory; name a folder for it`)
  if (existsSync(target)) throw alreadyExists(target)
  newFolder(target)
  for (const { name } of directory.children) {
    if (unwritable.test(name))
      throw new ShoalError('ERR_IO', `\`${address}\` has an entry named '${name}', which cannot be written`)
    // By CID: the name may have been bound to other content meanwhile.
    await download(client, `${directory.cid}/${name}`, join(target, name), done, progress)
  }
}

/** Only file responses have an ETag. */
function isFile({ headers }: IncomingMessage): boolean {
  return headers.etag !== undefined
}

function newFile(target: string): NodeJS.WritableStream {
  if (existsSync(target)) throw alreadyExists(target)
  return createWriteStream(target, { flags: 'wx' })
}

function newFolder(target: string): void {
  try {
    makeFolders(resolve(target))
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot create \`${target}\``, { cause: error })
  }
}

function alreadyExists(target: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
}
