import { failure } from '../base/errors.ts'

/**
 * The file name in a Content-Disposition header; nothing when it has none. `filename*` (RFC 5987) takes precedence over
 * `filename`, wherever it stands.
 */
export function fileNameOf(disposition: string): string | undefined {
  const [, extended] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^\s;]*)/i.exec(disposition) ?? []
  if (extended !== undefined) return percentDecoded(extended)
  const [, quoted, plain] = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/is.exec(disposition) ?? []
  // Browsers escape a quotation mark as %22, other clients with a backslash.
  return quoted?.replace(/\\(["\\])/g, '$1').replaceAll('%22', '"') ?? plain
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw failure('ERR_BAD_REQUEST', { cause: `The file name '${text}' is not UTF-8 in percent-encoding.` })
  }
}
