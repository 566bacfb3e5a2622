import { Readable } from 'node:stream'
import { escapeLine } from '../../base/control-characters.ts'
import { limits } from '../../base/limits.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import type { Upload } from '../client/node-client.ts'
import { addressPath, type Downloaded, download, type Listing, listingOf } from '../files/download.ts'
import { type FilesNode, type NamedFilesNode, onFilesNode } from '../files/files-node.ts'
import { UploadBody } from '../files/upload-body.ts'
import { websiteOf, websiteText } from '../files/website.ts'
import type { Result } from '../output/output.ts'
import { progressBar, withProgress } from '../output/progress.ts'

const { clock, random } = systemRuntime

/** Uploads a file, or a folder recursively. */
export async function addFiles(named: NamedFilesNode, path: string): Promise<Result> {
  const body = new UploadBody(path, random)
  const bytes = body.files.reduce((sum, { size }) => sum + size, 0)
  const cid = await withProgress(clock, (show) => {
    const stream = (): Readable => body.stream((sent) => show(progressBar(sent, bytes)))
    const upload: Upload = { type: body.type, length: body.length, stream }
    return onFilesNode(named, systemRuntime, (node) =>
      node.text({ method: 'POST', path: body.isFolder ? '?directory=true' : '', upload }),
    )
  })
  return { text: () => cid, json: { cid, files: body.files.length, bytes } }
}

/** Downloads a file, or a directory recursively. */
export async function getFiles(named: NamedFilesNode, address: string, option: string | undefined): Promise<Result> {
  const target = option ?? address.split('/').findLast((part) => part !== '') ?? '-'
  const { files, bytes } = await withProgress(clock, (show) => {
    // On a terminal the bar would be in the middle of the content.
    const progress = (done: Downloaded): void =>
      target === '-' && process.stdout.isTTY ? undefined : show(gotText(done))
    return onFilesNode(named, systemRuntime, (node) => download(node, address, target, progress))
  })
  const text = target === '-' ? '' : `Wrote ${files} files with ${bytes} bytes to ${target}.`
  return { text: () => text, json: { target, files, bytes } }
}

function gotText({ files, bytes, all }: Downloaded): string {
  return all === undefined ? `${files} files, ${bytes} bytes` : progressBar(bytes, all)
}

/** Stands for all names and uploads, where a node follows. */
const everything = '/'

/** Lists names and unnamed uploads, or the entries of a directory. */
export async function listFiles(named: NamedFilesNode, address = everything): Promise<Result> {
  return await onFilesNode(named, systemRuntime, async (node) =>
    address === everything ? await listStored(node) : await listDirectory(node, address),
  )
}

async function listStored(node: FilesNode): Promise<Result> {
  const { names, uploads } = await node.json<StoredFiles>(await node.stream({ method: 'GET', path: '?uploads=true' }))
  const unnamed = uploads.map((upload) => ({ name: null, ...upload }))
  return { text: () => storedText(names, unnamed), json: [...names, ...unnamed] }
}

async function listDirectory(node: FilesNode, address: string): Promise<Result> {
  const listing: Listing | undefined = await listingOf(node, address)
  if (listing === undefined) return { text: () => `${address} is a file.`, json: null }
  const { children } = listing.directory
  return { text: () => table(children), json: children }
}

/** An entry of a listing; uploads may be unnamed. */
interface Entry {
  readonly name: string | null
  readonly cid: string
  readonly size?: number
}

interface StoredFiles {
  readonly names: readonly Entry[]
  /** Unnamed uploads. */
  readonly uploads: readonly Omit<Entry, 'name'>[]
}

function storedText(names: readonly Entry[], unnamed: readonly Entry[]): string {
  if (names.length === 0 && unnamed.length === 0)
    return 'There are no files yet. `shoal files add <path>` uploads a file or a folder.'
  if (unnamed.length === 0) return table(names)
  const newest = unnamed.length < limits.uploadsListed ? '' : `, the newest ${unnamed.length}`
  const uploads = `Uploads without a name${newest} (\`shoal files name <name> <cid>\` gives one):\n${table(unnamed)}`
  return names.length === 0 ? uploads : `${table(names)}\n\n${uploads}`
}

function table(entries: readonly Entry[]): string {
  // Names are untrusted: a line break could forge an entry.
  const names = entries.map(({ name }) => escapeLine(name ?? '-'))
  const width = Math.max(0, ...names.map(({ length }) => length))
  const sizes = entries.map(({ size }) => (size === undefined ? 'not local' : String(size)))
  const sizeWidth = Math.max(0, ...sizes.map(({ length }) => length))
  return entries.map(({ cid }, i) => `${names[i]?.padEnd(width)}  ${sizes[i]?.padStart(sizeWidth)}  ${cid}`).join('\n')
}

export async function nameFiles(named: NamedFilesNode, name: string, cid: string): Promise<Result> {
  const explained = {
    ERR_METHOD_NOT_ALLOWED: `${invalidName(name)} Or '${cid}' is not a content identifier: \`shoal files add\` prints one.`,
  }
  const upload: Upload = { type: 'text/plain', length: Buffer.byteLength(cid), stream: () => Readable.from([cid]) }
  const { before, place } = await onFilesNode(named, systemRuntime, async (node) => ({
    before: await node.text({ method: 'PUT', path: addressPath(name), upload, explained }),
    place: await node.websites(),
  }))
  const text = before === '' ? `${name} is bound to ${cid}.` : `${name} is bound to ${cid}; before, to ${before}.`
  return {
    text: () => `${text}\n${websiteText(place, name)}`,
    json: { name, cid, before: before || null, url: websiteOf(place, name) ?? null },
  }
}

export async function unnameFiles(named: NamedFilesNode, name: string): Promise<Result> {
  const explained = { ERR_METHOD_NOT_ALLOWED: invalidName(name) }
  const before = await onFilesNode(named, systemRuntime, (node) =>
    node.text({ method: 'DELETE', path: addressPath(name), explained }),
  )
  const text = before === '' ? `There was no name ${name}.` : `Removed the name ${name}; it was bound to ${before}.`
  return { text: () => text, json: { name, before: before || null } }
}

function invalidName(name: string): string {
  return `'${name}' cannot be a name: it is a content identifier, or too long, or has one of / \\ < > " ? # in it.`
}

/** Removes an upload. Its content stays while it has a name. */
export async function removeFiles(named: NamedFilesNode, cid: string): Promise<Result> {
  const explained = { ERR_NOT_FOUND: `There is no upload ${cid}, or it was already removed.` }
  await onFilesNode(named, systemRuntime, (node) =>
    node.text({ method: 'POST', path: '/remove', body: { cid }, explained }),
  )
  return {
    text: () => `Removed the upload ${cid} from all nodes. Its content stays while it has a name.`,
    json: { cid },
  }
}
