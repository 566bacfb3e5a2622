import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from './folder.ts'

/** A server that may answer what no node answers. */
export function server(t: TestContext, listener: RequestListener): Server {
  const made = createServer(listener)
  t.after(() => made.close().closeAllConnections())
  return made
}

/** A data folder whose control socket answers anything. */
export async function folderWith(t: TestContext, listener: RequestListener): Promise<string> {
  const folder = join(temporaryFolder(t), 'data')
  mkdirSync(folder)
  writeFileSync(join(folder, 'shoal.json'), '{"product":"shoal","format":1}')
  const made = server(t, listener).listen(join(folder, 'control.sock'))
  await new Promise((resolve) => made.once('listening', resolve))
  return folder
}
