import type { Child } from '../../files/index.ts'
import { escaped } from '../html.ts'
import { type HttpResponse, jsonResponse } from '../response.ts'

export interface Listing {
  /** The last segment of the path, or `/`. */
  readonly name: string
  readonly cid: string
  readonly children: readonly Child[]
}

/** Names in a directory are untrusted: browsers must not sniff a listing for another content type. */
const listingHeaders = { 'x-content-type-options': 'nosniff', vary: 'accept' } as const

/** A directory listing as JSON. */
export function jsonListing(directory: Listing): HttpResponse {
  const { status, headers, body } = jsonResponse(200, { directory })
  return { status, headers: { ...headers, ...listingHeaders }, body }
}

/** A directory listing as HTML. Links keep the query string of the request: it may contain the token. */
export function htmlListing({ name, cid, children }: Listing, query: string | undefined): HttpResponse {
  const title = escaped(name)
  const suffix = query === undefined ? '' : `?${query}`
  const rows = children.map((child) => {
    const target = escaped(`./${encodeURIComponent(child.name)}${suffix}`)
    return `<tr><td><a href="${target}">${escaped(child.name)}</a></td><td>${child.size}</td><td>${child.cid}</td></tr>`
  })
  const lines = [
    '<!doctype html>',
    `<html><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1><table>`,
    '<tr><th>Name</th><th>Size</th><th>Cid</th></tr>',
    `<tr><td>. (${title})</td><td></td><td>${cid}</td></tr>`,
    ...rows,
    '</table></body></html>',
    '',
  ]
  const headers = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', ...listingHeaders }
  return { status: 200, headers, body: lines.join('\n') }
}
