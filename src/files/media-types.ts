/** Media types by file extension. */
const byExtension: Readonly<Record<string, string>> = {
  avif: 'image/avif',
  bmp: 'image/bmp',
  css: 'text/css',
  csv: 'text/csv',
  eot: 'application/vnd.ms-fontobject',
  gif: 'image/gif',
  gz: 'application/gzip',
  htm: 'text/html',
  html: 'text/html',
  ico: 'image/x-icon',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  log: 'text/plain',
  m4a: 'audio/mp4',
  map: 'text/plain',
  md: 'text/markdown',
  mjs: 'application/javascript',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  oga: 'audio/ogg',
  ogg: 'audio/ogg',
  ogv: 'video/ogg',
  otf: 'font/otf',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  tar: 'application/x-tar',
  ttf: 'font/ttf',
  txt: 'text/plain',
  wasm: 'application/wasm',
  wav: 'audio/wav',
  webm: 'video/webm',
  webmanifest: 'application/manifest+json',
  webp: 'image/webp',
  woff: 'font/woff',
  woff2: 'font/woff2',
  xhtml: 'application/xhtml+xml',
  xml: 'text/xml',
  yaml: 'text/x-yaml',
  yml: 'text/x-yaml',
  zip: 'application/zip',
}

/** Magic numbers of file formats: offset, bytes as Latin-1 text, media type. */
const signatures: readonly (readonly [at: number, bytes: string, type: string])[] = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF87a', 'image/gif'],
  [0, 'GIF89a', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [8, 'WAVE', 'audio/wav'],
  [4, 'ftypavif', 'image/avif'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\x1aE\xdf\xa3', 'video/webm'],
  [0, 'OggS', 'audio/ogg'],
  [0, 'ID3', 'audio/mpeg'],
  [0, '%PDF-', 'application/pdf'],
  [0, 'PK\x03\x04', 'application/zip'],
  [0, '\x1f\x8b', 'application/gzip'],
  [0, '\0asm', 'application/wasm'],
  [0, '\0\0\x01\0', 'image/x-icon'],
  [0, 'wOFF', 'font/woff'],
  [0, 'wOF2', 'font/woff2'],
]

/** Bytes at the start of a file that are needed for sniffing. */
export const sniffedBytes = 1024

const anything = 'application/octet-stream'

/** The media type by file extension. */
export function typeByName(name: string): string | undefined {
  const [, extension = ''] = /\.([^./]+)$/.exec(name) ?? []
  const lower = extension.toLowerCase()
  return Object.hasOwn(byExtension, lower) ? byExtension[lower] : undefined
}

export function typeByNameOrAny(name: string): string {
  return typeByName(name) ?? anything
}

/** Sniffs the media type. HTML is never sniffed: it counts as plain text, so that no file becomes a page by accident. */
export function typeByContent(start: Uint8Array): string {
  const text = Buffer.from(start.buffer, start.byteOffset, Math.min(start.length, sniffedBytes)).toString('latin1')
  const signature = signatures.find(([at, bytes]) => text.startsWith(bytes, at))
  if (signature !== undefined) return signature[2]
  return text.includes('\0') ? anything : 'text/plain'
}
