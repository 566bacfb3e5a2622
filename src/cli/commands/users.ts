import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { ShoalError } from '../../base/errors.ts'
import { formatPublicKey, KeyPair } from '../../identity/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { DataFolder } from '../../store/index.ts'
import { onNode, withSession } from '../client/on-node.ts'
import { defaultKeyFile, userKey, writeKey } from '../client/user-files.ts'
import { readSource } from '../input.ts'
import type { Result } from '../output/output.ts'
import { addUserInFolder } from './local-settings.ts'

/** Makes a key pair. Without a file, asks for its path. */
export async function makeKey(output: string | undefined): Promise<Result> {
  const path = output ?? (await askForFile(defaultKeyFile()))
  const key = KeyPair.generate(systemRuntime.random)
  const written = writeKey(resolve(path), key)
  const publicKey = formatPublicKey(key.publicKey)
  const { privateKeyPath, publicKeyPath } = written
  const text = `Your private key has been saved at ${privateKeyPath}\nYour public key has been saved at ${publicKeyPath}\nThe public key is: ${publicKey}`
  return { text: () => text, json: { ...written, publicKey } }
}

async function askForFile(fallback: string): Promise<string> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr, terminal: false })
  try {
    process.stderr.write(`Enter path in which to save the key (${fallback}): `)
    for await (const line of prompt) return line.trim() === '' ? fallback : line.trim()
    return fallback
  } finally {
    prompt.close()
  }
}

/** Adds the key of the user to the authorized ones of a node on this machine. */
export async function addKey(folder: string, identity: string | undefined): Promise<Result> {
  if (!DataFolder.exists(folder)) throw new ShoalError('ERR_PATH_INVALID', `${folder} is no data directory of shoal.`)
  const publicKey = formatPublicKey(userKey(identity).publicKey)
  await onNode<unknown>({ folder }, systemRuntime, {
    running: (node) => node.request({ method: 'POST', path: '/users', body: { publicKey } }),
    stopped: () => addUserInFolder(folder, publicKey),
  })
  return { text: () => 'OK', json: { publicKey } }
}

export async function printPublicKey(identity: string | undefined): Promise<Result> {
  const publicKey = formatPublicKey(userKey(identity).publicKey)
  return { text: () => publicKey, json: publicKey }
}

/** Signs in to a node without authorized users. A code `-` is read from stdin: the process list shows arguments. */
export async function claimNode(
  node: string,
  identity: string | undefined,
  typed: string | undefined,
): Promise<Result> {
  const code = typed === '-' ? readSource('-').trim() : typed
  return await withSession({ folder: '', node, identity, code }, systemRuntime, async (client) => {
    const { nodeId } = await client.request<{ nodeId: string }>({ method: 'GET', path: '/node' })
    const { isFirstUser } = client
    const text = isFirstUser ? `You are the first authorized user of ${nodeId}.` : `You are authorized on ${nodeId}.`
    return { text: () => text, json: { nodeId, firstUser: isFirstUser } }
  })
}
