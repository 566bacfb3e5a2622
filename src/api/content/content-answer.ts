import { failure } from '../../base/errors.ts'
import type { Content, Files } from '../../files/index.ts'
import type { Answer } from '../answer.ts'
import type { Call } from '../call.ts'
import { fileAnswer } from './file-answer.ts'
import { htmlListing, jsonListing } from './listing.ts'

/** What was found, and how. */
export interface FoundContent {
  readonly content: Content | undefined
  readonly by: 'cid' | 'name'
  /** The path below the identifier or the name. */
  readonly path: readonly string[]
}

const index = 'index.html'

/** The answer to whoever asks for a file or a directory. `prefersIndex` says whether the page of a directory is wanted. */
export async function contentAnswer(
  call: Call,
  files: Files,
  { content, by, path }: FoundContent,
  prefersIndex: boolean,
): Promise<Answer> {
  if (content === undefined) throw failure('ERR_NOT_FOUND', {})
  const name = path.at(-1)
  if (content.type === 'file')
    return await fileAnswer(call, files, { file: content, by, ...(name !== undefined && { name }) })
  if (prefersIndex && content.children.some((child) => child.name === index)) {
    const { content: page } = await files.find(content.cid, [index])
    if (page?.type === 'file') return await fileAnswer(call, files, { file: page, name: index, by, asIndex: true })
  }
  const listing = { name: name ?? '/', cid: content.cid, children: content.children }
  if (!asksForHtml(call)) return jsonListing(listing)
  return call.path.endsWith('/') ? htmlListing(listing, call.query) : redirect(call)
}

export function asksForHtml({ request }: Call): boolean {
  return /text\/html/i.test(request.headers.accept ?? '')
}

export function asksForJson({ request }: Call): boolean {
  return /application\/json/i.test(request.headers.accept ?? '')
}

/** Links in a directory lead elsewhere when its address has no slash at its end. */
function redirect({ path, query }: Call): Answer {
  // A path that begins with two slashes would be taken for a host.
  const location = `${path.replace(/^\/+/, '/')}/${query === undefined ? '' : `?${query}`}`
  // A browser would keep it for good, but the name may mean something else tomorrow.
  return { status: 301, headers: { location, 'cache-control': 'no-store', vary: 'accept' }, body: '' }
}

/** The parts of a path, decoded; nothing when it cannot be. */
export function decodedPath(path: string): string[] | undefined {
  try {
    return decodeURIComponent(path)
      .split('/')
      .filter((part) => part !== '')
  } catch {
    return undefined
  }
}
