import { failure } from '../../base/errors.ts'
import type { Content, Files } from '../../files/index.ts'
import type { Call } from '../call.ts'
import type { HttpResponse } from '../response.ts'
import { fileResponse } from './file-response.ts'
import { htmlListing, jsonListing } from './listing.ts'

/** The content at an address, and whether the address begins with a CID or a name. */
export interface FoundContent {
  readonly content: Content | undefined
  readonly by: 'cid' | 'name'
  /** The path below the CID or name. */
  readonly path: readonly string[]
}

const index = 'index.html'

/** Responds with a file or a directory listing. With `prefersIndex` a directory is served as its `index.html`. */
export async function contentResponse(
  call: Call,
  files: Files,
  { content, by, path }: FoundContent,
  prefersIndex: boolean,
): Promise<HttpResponse> {
  if (content === undefined) throw failure('ERR_NOT_FOUND', {})
  const name = path.at(-1)
  if (content.type === 'file')
    return await fileResponse(call, files, { file: content, by, ...(name !== undefined && { name }) })
  if (prefersIndex && content.children.some((child) => child.name === index)) {
    const { content: page } = await files.find(content.cid, [index])
    if (page?.type === 'file') return await fileResponse(call, files, { file: page, name: index, by, asIndex: true })
  }
  const listing = { name: name ?? '/', cid: content.cid, children: content.children }
  if (!acceptsHtml(call)) return jsonListing(listing)
  return call.path.endsWith('/') ? htmlListing(listing, call.query) : redirect(call)
}

export function acceptsHtml({ request }: Call): boolean {
  return /text\/html/i.test(request.headers.accept ?? '')
}

export function acceptsJson({ request }: Call): boolean {
  return /application\/json/i.test(request.headers.accept ?? '')
}

/** Redirects to the address with a trailing slash: relative links in the listing resolve against it. */
function redirect({ path, query }: Call): HttpResponse {
  // A location that begins with two slashes would be a redirect to another host.
  const location = `${path.replace(/^\/+/, '/')}/${query === undefined ? '' : `?${query}`}`
  // Browsers cache a 301 for good, but the name may be bound to other content tomorrow.
  return { status: 301, headers: { location, 'cache-control': 'no-store', vary: 'accept' }, body: '' }
}

/** The percent-decoded segments of a path; nothing for a malformed encoding. */
export function decodedPath(path: string): string[] | undefined {
  try {
    return decodeURIComponent(path)
      .split('/')
      .filter((part) => part !== '')
  } catch {
    return undefined
  }
}
