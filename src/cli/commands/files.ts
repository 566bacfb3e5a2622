import { escapeLine } from '../../base/control-characters.ts'
import { limits } from '../../base/limits.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { systemTimers } from '../../runtime/timers.ts'
import { ApiClient } from '../api-client.ts'
import { addressPath, download, type Listing, listingOf } from '../files/download.ts'
import { explainError } from '../files/explain-error.ts'
import { FolderForm } from '../files/form.ts'
import { websiteOf, websiteText } from '../files/website.ts'
import type { Result } from '../output.ts'
import { progressBar, progressLine } from '../progress.ts'

/** Uploads a file, or a folder recursively. */
export async function addFiles(node: string, path: string): Promise<Result> {
  const form = new FolderForm(path, systemRandom)
  const bytes = form.files.reduce((sum, { size }) => sum + size, 0)
  const cid = await upload(await ApiClient.connect(node, systemTimers), form, bytes)
  return { text: () => cid, json: { cid, files: form.files.length, bytes } }
}

async function upload(client: ApiClient, form: FolderForm, bytes: number): Promise<string> {
  const progress = progressLine(systemClock)
  try {
    return await client.text(`/api/v2/files${form.isFolder ? '?directory=true' : ''}`, {
      method: 'POST',
      headers: { 'content-type': form.type, 'content-length': form.length },
      body: form.stream((sent) => progress.update(progressBar(sent, bytes))),
    })
  } finally {
    progress.end()
  }
}

/** Downloads a file, or a directory recursively. */
export async function getFiles(node: string, address: string, option: string | undefined): Promise<Result> {
  const client = await ApiClient.connect(node, systemTimers)
  const target = option ?? address.split('/').findLast((part) => part !== '') ?? '-'
  const progress = progressLine(systemClock)
  const done = { files: 0, bytes: 0 }
  try {
    await download(client, address, target, done, ({ files, bytes }) =>
      progress.update(`${files} files, ${bytes} bytes`),
    )
  } finally {
    progress.end()
  }
  const text = target === '-' ? '' : `Wrote ${done.files} files with ${done.bytes} bytes to ${target}.`
  return { text: () => text, json: { target, ...done } }
}

/** Lists names and unnamed uploads, or the entries of a directory. */
export async function listFiles(node: string, address: string | undefined): Promise<Result> {
  const client = await ApiClient.connect(node, systemTimers)
  if (address === undefined) {
    const { names, uploads } = await client.json<StoredFiles>(await client.get('/api/v2/files?uploads=true'))
    const unnamed = uploads.map((upload) => ({ name: null, ...upload }))
    return { text: () => storedText(names, unnamed), json: [...names, ...unnamed] }
  }
  const listing: Listing | undefined = await listingOf(client, address)
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

export async function nameFiles(node: string, name: string, cid: string): Promise<Result> {
  const client = await ApiClient.connect(node, systemTimers)
  const headers = { 'content-length': Buffer.byteLength(cid) }
  const before = await explainError(client.text(addressPath(name), { method: 'PUT', headers, body: cid }), {
    ERR_METHOD_NOT_ALLOWED: `${invalidName(name)} Or '${cid}' is not a content identifier: \`shoal files add\` prints one.`,
  })
  const text = before === '' ? `${name} is bound to ${cid}.` : `${name} is bound to ${cid}; before, to ${before}.`
  const url = websiteOf(client.base, name) ?? null
  const line = websiteText(client.base, name)
  return { text: () => `${text}\n${line}`, json: { name, cid, before: before || null, url } }
}

export async function unnameFiles(node: string, name: string): Promise<Result> {
  const client = await ApiClient.connect(node, systemTimers)
  const before = await explainError(client.text(addressPath(name), { method: 'DELETE' }), {
    ERR_METHOD_NOT_ALLOWED: invalidName(name),
  })
  const text = before === '' ? `There was no name ${name}.` : `Removed the name ${name}; it was bound to ${before}.`
  return { text: () => text, json: { name, before: before || null } }
}

function invalidName(name: string): string {
  return `'${name}' cannot be a name: it is a content identifier, or too long, or has one of / \\ < > " ? # in it.`
}

/** Removes an upload. Its content stays while it has a name. */
export async function removeFiles(node: string, cid: string): Promise<Result> {
  const client = await ApiClient.connect(node, systemTimers)
  const body = JSON.stringify({ cid })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  await explainError(client.text('/api/v2/files/remove', { method: 'POST', headers, body }), {
    ERR_NOT_FOUND: `There is no upload ${cid}, or it was already removed.`,
  })
  return {
    text: () => `Removed the upload ${cid} from all nodes. Its content stays while it has a name.`,
    json: { cid },
  }
}
