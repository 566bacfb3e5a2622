import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { systemRandom } from '../../runtime/random.ts'
import type { Result } from '../output/output.ts'

const fileName = 'shoal-swarm.key'

/** Makes a swarm key: 32 random bytes as base64. */
export async function makeSwarmKey(output: string | undefined): Promise<Result> {
  const swarmKey = systemRandom.bytes(32).toString('base64')
  if (output === undefined) return { text: () => swarmKey, json: { swarmKey, outputPath: null } }
  const path = resolve(output)
  const isFolder = existsSync(path) && statSync(path).isDirectory()
  const outputPath = isFolder ? join(path, fileName) : path
  if (existsSync(outputPath)) throw new ShoalError('ERR_INVALID_INPUT', `File ${outputPath} already exists.`)
  try {
    writeFileSync(outputPath, swarmKey, { mode: 0o600, flag: 'wx' })
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot write the swarm key \`${outputPath}\``, { cause: error })
  }
  return { text: () => `Key written to ${outputPath}`, json: { swarmKey, outputPath } }
}
