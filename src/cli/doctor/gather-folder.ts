import { accessSync, constants, existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { request } from '../../base/node-http.ts'
import { parseNodeId } from '../../identity/index.ts'
import { type Endpoint, listenOnAll } from '../../listening/listen.ts'
import { bindRules, type Endpoints } from '../../node/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { SettingsDocument } from '../../settings/index.ts'
import { diskSpace, lockState, topicFiles } from '../../store/index.ts'
import { readText } from '../client/response-body.ts'
import { getInFolder } from '../commands/local-settings.ts'
import type { FolderFacts, PortFacts } from './facts.ts'

/** Time-out for the program that has a port in use, in milliseconds. */
const probeMs = 1000

/** Looks at a data folder on this machine. Changes nothing. */
export function folderFacts(folder: string): FolderFacts {
  const path = resolve(folder)
  const access = accessOf(path)
  return {
    path,
    lock: access === 'denied' ? { is: 'free' } : lockState(path),
    access,
    disk: diskSpace(path),
    hasIdentity: existsSync(join(path, 'node.db')),
    hasEvents: access !== 'denied' && topicFiles(path).length > 0,
  }
}

function accessOf(path: string): FolderFacts['access'] {
  try {
    accessSync(path, constants.W_OK)
    return 'writable'
  } catch (error) {
    return systemCode(error) === 'EROFS' ? 'read-only' : 'denied'
  }
}

/** The settings of a stopped node, or why they cannot be read. */
export async function storedSettings(
  facts: FolderFacts,
): Promise<{ settings: SettingsDocument | undefined; folder: FolderFacts }> {
  // Opening the settings takes the lock, which removes a stale lock, and creates missing database files.
  const { access, hasIdentity, lock } = facts
  if (access !== 'writable' || !hasIdentity || lock.is === 'stale') return { settings: undefined, folder: facts }
  try {
    const { json } = await getInFolder(facts.path, [], true)
    return { settings: json as SettingsDocument, folder: facts }
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    return { settings: undefined, folder: { ...facts, settingsError: error.message } }
  }
}

/** Tries to listen where a node would. */
export async function portFacts(endpoints: Endpoints, timers: Timers): Promise<PortFacts[]> {
  const names = Object.keys(bindRules) as (keyof Endpoints)[]
  const all = names.flatMap((name) => endpoints[name].map((endpoint) => portFact(name, endpoint, timers)))
  return await Promise.all(all)
}

async function portFact(name: keyof Endpoints, endpoint: Endpoint, timers: Timers): Promise<PortFacts> {
  const { component, option } = bindRules[name]
  const facts = { component, option, port: endpoint.port }
  try {
    const { servers } = await listenOnAll([{ ...endpoint, optional: false }], bindRules[name], () => createServer())
    for (const server of servers) server.close()
    return facts
  } catch (error) {
    // `::1` on a machine without IPv6.
    const reason = error instanceof Error ? systemCode(error.cause) : undefined
    if (endpoint.optional === true && (reason === 'EADDRNOTAVAIL' || reason === 'EAFNOSUPPORT')) return facts
    const code = error instanceof ShoalError ? error.code : 'ERR_IO'
    const node = name === 'api' ? await nodeAt(endpoint, timers) : undefined
    return { ...facts, error: { code, message: messageOf(error) }, node }
  }
}

/** The ID of the node whose API answers at an address. */
async function nodeAt({ host, port }: Endpoint, timers: Timers): Promise<string | undefined> {
  try {
    const id = await new Promise<string>((resolve, reject) => {
      const asked = request({ host, port, path: '/api/v2/node/id', agent: false, timeout: probeMs })
      asked.once('timeout', () => asked.destroy())
      asked.once('error', reject)
      asked.once('response', (response) =>
        readText(response, { maxBytes: 100, timeoutMs: probeMs, timers }).then(resolve, reject),
      )
      asked.end()
    })
    return parseNodeId(id)
  } catch {
    // Another program, which may send anything.
    return undefined
  }
}
