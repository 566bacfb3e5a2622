import { createWriteStream, existsSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join, resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { ShoalError } from '../../base/errors.ts'
import { makeFolders } from '../../store/index.ts'
import { type ApiClient, textOf } from '../api-client.ts'
import { explained } from './explained.ts'

export interface Listing {
  readonly directory: {
    readonly name: string
    readonly cid: string
    readonly children: readonly { readonly name: string; readonly cid: string; readonly size: number }[]
  }
}

/** What was written. */
export interface Downloaded {
  files: number
  bytes: number
}

/** Whoever made a directory may have called its entries anything: some would be written elsewhere. */
const unwritable = sep === '/' ? /^\.{0,2}$|[/\0]/ : /^\.{0,2}$|[/\\:\0]/

const asJson = { headers: { accept: 'application/json' } }

/** The path of the API for an identifier or a name, with a path below it. */
export function addressPath(address: string): string {
  return `/api/v2/files/${address.split('/').map(encodeURIComponent).join('/')}`
}

/** What is at an address. */
function answerAt(client: ApiClient, address: string): Promise<IncomingMessage> {
  const [root = ''] = address.split('/')
  if (root === '')
    throw new ShoalError('ERR_INVALID_INPUT', `\`${address}\` does not begin with a name or an identifier`)
  return explained(client.get(addressPath(address), asJson), {
    ERR_METHOD_NOT_ALLOWED: `There is no name '${root}', and it is no content identifier. \`shoal files ls\` lists all names.`,
    ERR_NOT_FOUND: `There is nothing at '${address}', or it is not on this node.`,
  })
}

/** What is in a directory; nothing when it is a file. */
export async function listingOf(client: ApiClient, address: string): Promise<Listing | undefined> {
  const answer = await answerAt(client, address)
  if (!isFile(answer)) return JSON.parse(await textOf(answer)) as Listing
  answer.destroy()
  return undefined
}

/** Writes a file, or a directory with everything in it, to a place where nothing is yet. */
export async function download(
  client: ApiClient,
  address: string,
  target: string,
  done: Downloaded,
  progress: (done: Downloaded) => void,
): Promise<void> {
  const answer = await answerAt(client, address)
  if (isFile(answer)) {
    await pipeline(answer, target === '-' ? process.stdout : newFile(target), { end: target !== '-' })
    done.files++
    done.bytes += Number(answer.headers['content-length'])
    progress(done)
    return
  }
  const { directory } = JSON.parse(await textOf(answer)) as Listing
  if (target === '-') throw new ShoalError('ERR_INVALID_INPUT', `${address} is a directory; name a folder for it`)
  if (existsSync(target)) throw alreadyThere(target)
  newFolder(target)
  for (const { name } of directory.children) {
    if (unwritable.test(name))
      throw new ShoalError('ERR_IO', `\`${address}\` has an entry named '${name}', which cannot be written`)
    // A name may mean something else by now.
    await download(client, `${directory.cid}/${name}`, join(target, name), done, progress)
  }
}

/** Only files have a tag that says what they are. */
function isFile({ headers }: IncomingMessage): boolean {
  return headers.etag !== undefined
}

function newFile(target: string): NodeJS.WritableStream {
  if (existsSync(target)) throw alreadyThere(target)
  return createWriteStream(target, { flags: 'wx' })
}

function newFolder(target: string): void {
  try {
    makeFolders(resolve(target))
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot create \`${target}\``, { cause: error })
  }
}

function alreadyThere(target: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', `\`${target}\` exists already`)
}
