import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { ShoalError, systemCode } from '../../base/errors.ts'
import { formatPublicKey, type KeyPair, parsePrivateKey } from '../../identity/index.ts'
import { fromEnvironment } from '../environment.ts'
import { quoted } from '../output/quoted.ts'

/** The configuration folder of the user who types commands. */
export function configFolder(platform: NodeJS.Platform = process.platform): string {
  const { XDG_CONFIG_HOME: config = '', APPDATA: data = '' } = process.env
  if (platform === 'win32') return join(data === '' ? join(homedir(), 'AppData', 'Roaming') : data, 'shoal')
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'shoal')
  return join(config === '' ? join(homedir(), '.config') : config, 'shoal')
}

export function defaultKeyFile(): string {
  return join(configFolder(), 'keys', 'users', 'id')
}

/** The key of the user: from an option, which is a key or a file, from the environment, or from the default file. */
export function userKey(option: string | undefined): KeyPair {
  const given = option ?? fromEnvironment('identity')
  if (given !== undefined) return keyIn(given) ?? keyFile(given)
  const file = defaultKeyFile()
  if (existsSync(file)) return keyFile(file)
  throw new ShoalError(
    'ERR_USER_UNAUTHENTICATED',
    `There is no user key at \`${file}\`. Make one with \`shoal users keygen\`, or name another with --identity.`,
  )
}

function keyIn(text: string): KeyPair | undefined {
  try {
    return parsePrivateKey(text)
  } catch {
    return undefined
  }
}

function keyFile(path: string): KeyPair {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = systemCode(error) === 'ENOENT' ? 'ERR_PATH_INVALID' : 'ERR_IO'
    throw new ShoalError(code, `cannot read the user key \`${path}\``, { cause: error })
  }
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `Other users can read the private key \`${path}\`. Type \`chmod 600 ${quoted(path)}\`.`,
    )
  const key = keyIn(text.replace(/\r?\n$/, ''))
  if (key === undefined)
    throw new ShoalError('ERR_INVALID_INPUT', `\`${path}\` has no private key: '0' and the base64 of 32 bytes.`)
  return key
}

/** Writes a new key pair: the private key to a file, the public key to one of the same name with `.pub`. */
export function writeKey(path: string, key: KeyPair): { privateKeyPath: string; publicKeyPath: string } {
  const publicPath = `${path}.pub`
  for (const file of [path, publicPath])
    if (existsSync(file)) throw new ShoalError('ERR_FILE_EXISTS', `File ${file} already exists.`)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeFileSync(path, `${key.toPrivateText()}\n`, { mode: 0o600, flag: 'wx' })
    writeFileSync(publicPath, `${formatPublicKey(key.publicKey)}\n`, { flag: 'wx' })
    chmodSync(publicPath, 0o644)
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot write the key \`${path}\``, { cause: error })
  }
  return { privateKeyPath: path, publicKeyPath: publicPath }
}
