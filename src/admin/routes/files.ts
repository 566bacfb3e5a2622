import { fileRoutes, type Route } from '../../api/index.ts'
import type { Files } from '../../files/index.ts'
import { adminPath } from './requests.ts'

export interface FileParts {
  /** The files of the current topic. */
  readonly files: () => Promise<Files>
}

/** Files, directories and names, as on the API, with the app ID of the operator. */
export function adminFileRoutes({ files }: FileParts): Route[] {
  return fileRoutes(files, `${adminPath}/files`)
}
