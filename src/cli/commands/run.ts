import { accessSync, constants, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { parseMemoryLimit } from '../../client-memory/memory-limit.ts'
import { type PublicKey, parsePublicKey } from '../../identity/index.ts'
import { isLoopback, socketText } from '../../listening/listen.ts'
import { descriptorSink, jsonLine, Logger, type LogOutput, logOutput, textLine } from '../../logging/index.ts'
import { type Addresses, type ApiOptions, Node, type NodeOptions, type StopReason } from '../../node/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { hostName, originText } from '../address-options.ts'
import { type BindOptions, endpointsOf } from '../bind-options.ts'
import { dataFolder, fromEnvironment } from '../environment.ts'
import { onLauncherSignal, onOrphaned, StopRequests } from '../lifeline.ts'
import { errorJson, exitCodes, resultJson, write } from '../output/output.ts'
import { startErrorText } from '../output/start-error.ts'
import { levelOf } from '../output/verbose.ts'

export interface RunOptions extends BindOptions {
  readonly json?: boolean
  readonly verbose?: number
  readonly workingDir?: string
  readonly apiHost?: readonly string[]
  readonly corsOrigins?: readonly string[]
  readonly namingDomain?: string
  readonly rootPublicKey?: string
  readonly logColor?: string
  readonly logJson?: string
  readonly printAddresses?: boolean
  readonly pidFile?: string
  readonly exitOnStdinClose?: boolean
  readonly retentionInterval?: string
  readonly memoryLimit?: string
  readonly standalone?: boolean
}

/** Runs a node until a signal stops it; returns the exit code. Throws for invalid options. */
export async function run(options: RunOptions): Promise<number> {
  const logJson = switchedOn(
    '--log-json',
    options.logJson ?? fromEnvironment('logJson') ?? 'off',
    !process.stderr.isTTY,
  )
  const colour = switchedOn(
    '--log-color',
    options.logColor ?? fromEnvironment('logColor') ?? 'auto',
    process.stderr.isTTY === true && terminalHasColours(),
  )
  const nodeOptions = nodeOptionsOf(options)
  const format = logJson ? jsonLine : textLine(colour)
  const output = logOutput(format, descriptorSink(process.stderr.fd, format, systemRuntime), systemRuntime.clock)
  const log = new Logger(output, 'node')
  // Signal handlers are installed before the start: a signal during the start also causes a graceful shutdown.
  const failure = Promise.withResolvers<Error>()
  const shutdown = Promise.withResolvers<void>()
  const stopped = stopRequest(options, log, failure.promise, shutdown.promise)
  const started = `using data directory \`${nodeOptions.folder}\``
  if (logJson) log.info(started)
  else output.sink.write(`${started}\n`)
  try {
    if (options.pidFile !== undefined) checkPidFile(options.pidFile)
    return await untilStopped(
      await Node.start({ ...nodeOptions, output, failed: failure.resolve, shutdown: shutdown.resolve }),
      stopped,
      options,
      output,
    )
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const text = startErrorText(error, { path: nodeOptions.folder, typed: options.workingDir })
    if (logJson) log.error(text)
    else output.sink.write(`${text}\n`)
    if (options.json === true) await write(process.stdout, errorJson(error))
    return exitCodes.failed
  } finally {
    await output.sink.flush()
  }
}

/** https://no-color.org: NO_COLOR counts unless it is empty. --log-color and SHOAL_LOG_COLOR override it. */
function terminalHasColours(): boolean {
  return (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb'
}

/** Parses an option with the values `on`, `off` and `auto`. */
function switchedOn(option: string, value: string, auto: boolean): boolean {
  switch (value.toLowerCase()) {
    case '1':
    case 'on':
    case 'true':
      return true
    case '0':
    case 'off':
    case 'false':
      return false
    case 'auto':
      return auto
    default:
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        `${option}: '${value}' is not allowed. Allowed: 1, on, true, 0, off, false, auto.`,
      )
  }
}

function nodeOptionsOf(options: RunOptions): Omit<NodeOptions, 'output'> {
  const logFilter = fromEnvironment('logFilter') ?? levelOf(options.verbose)
  const { retentionInterval } = options
  const memoryLimit = options.memoryLimit ?? fromEnvironment('memoryLimit')
  const isStandalone =
    options.standalone === true || switchedOn('SHOAL_STANDALONE', fromEnvironment('standalone') ?? 'off', false)
  return {
    folder: resolve(dataFolder(options.workingDir)),
    endpoints: endpointsOf(options),
    api: apiOptionsOf(options),
    replicates: !isStandalone,
    ...(logFilter !== undefined && { logFilter }),
    ...(memoryLimit !== undefined && { memoryLimit: parseMemoryLimit(memoryLimit) }),
    ...(retentionInterval !== undefined && { retentionMs: millisecondsOf(retentionInterval) }),
  }
}

function millisecondsOf(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new ShoalError('ERR_INVALID_INPUT', `--retention-interval: '${text}' is not a number of milliseconds.`)
}

function apiOptionsOf({ apiHost, corsOrigins, namingDomain, rootPublicKey }: RunOptions): ApiOptions {
  const key = rootPublicKey ?? fromEnvironment('rootPublicKey')
  return {
    ...(key !== undefined && { rootKey: rootKeyOf(key) }),
    ...(apiHost !== undefined && { hosts: apiHost.map((name) => hostName('--api-host', name)) }),
    ...(corsOrigins !== undefined && {
      corsOrigins: corsOrigins.map((origin) => originText('--cors-origins', origin)),
    }),
    ...(namingDomain !== undefined && { namingDomain: hostName('--naming-domain', namingDomain.replace(/^\./, '')) }),
  }
}

function rootKeyOf(text: string): PublicKey {
  try {
    return parsePublicKey(text)
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `--root-public-key: ${messageOf(error)}`)
  }
}

async function untilStopped(
  node: Node,
  stopped: Promise<StopReason>,
  options: RunOptions,
  output: LogOutput,
): Promise<number> {
  let hasPidFile = false
  try {
    if (options.pidFile !== undefined) {
      writePidFile(options.pidFile)
      hasPidFile = true
    }
    if (options.printAddresses === true) await write(process.stdout, JSON.stringify(addressesOf(node)))
    if (options.json === true) await write(process.stdout, resultJson(addressesOf(node)))
    if (process.stderr.isTTY === true && output.format !== jsonLine) output.sink.write(banner(node))
    const reason = await stopped
    await node.stop(reason)
    return reason === 'NODE_STOPPED_BY_NODE' ? exitCodes.failed : exitCodes.ok
  } catch (error) {
    await node.stop('NODE_STOPPED_BY_NODE')
    throw error
  } finally {
    if (hasPidFile && options.pidFile !== undefined) rmSync(options.pidFile, { force: true })
  }
}

/**
 * Waits for the first reason to stop: a signal, stdin, the launcher, the control socket or a crash. A second signal
 * during the shutdown ends the process at once.
 */
function stopRequest(
  { exitOnStdinClose }: RunOptions,
  log: Logger,
  failure: Promise<Error>,
  shutdown: Promise<void>,
): Promise<StopReason> {
  return new Promise((resolve) => {
    const byHost = (): void => resolve('NODE_STOPPED_BY_HOST')
    const requests = new StopRequests(() => process.exit(exitCodes.failed), systemRuntime.clock)
    const request = (from: 'own' | 'launcher', signal: string): void => {
      requests.add(from, signal)
      byHost()
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const)
      process.on(signal, () => request('own', signal))
    onLauncherSignal((signal) => request('launcher', signal))
    onOrphaned(byHost, systemRuntime.timers)
    if (exitOnStdinClose === true) for (const end of ['end', 'close']) process.stdin.on(end, byHost).resume()
    const panic = (error: unknown): void => {
      log.as('panic').error(error instanceof Error ? (error.stack ?? error.message) : messageOf(error))
      resolve('NODE_STOPPED_BY_NODE')
    }
    void shutdown.then(() => resolve('NODE_STOPPED_BY_NODEUI'))
    void failure.then(panic)
    process.on('uncaughtException', panic)
    process.on('unhandledRejection', panic)
  })
}

function writePidFile(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`)
  } catch (error) {
    throw pidFileError(file, error)
  }
}

/** Fails before the start creates a data folder. */
function checkPidFile(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
  } catch (error) {
    throw pidFileError(file, error)
  }
}

function pidFileError(file: string, cause: unknown): ShoalError {
  return new ShoalError('ERR_IO', `cannot write the PID file \`${file}\``, { cause })
}

interface NodeAddresses {
  readonly nodeId: string
  readonly peerId: string
  readonly pid: number
  readonly api: string[]
  readonly admin: string[]
  readonly swarm: string[]
}

function addressesOf(node: Node): NodeAddresses {
  const texts = (name: keyof Addresses): string[] => node.addresses[name].map(socketText)
  const { id: nodeId, peerId } = node
  return { nodeId, peerId, pid: process.pid, api: texts('api'), admin: texts('admin'), swarm: texts('swarm') }
}

/** The banner on a TTY: addresses, and the next commands to type. */
function banner(node: Node): string {
  const { nodeId, peerId, api, swarm } = addressesOf(node)
  const admin = node.addresses.admin.map((at) => `${isLoopback(at.address) ? 'http' : 'https'}://${socketText(at)}`)
  const lines = [
    '',
    `  node ID      ${nodeId}`,
    `  peer ID      ${peerId}`,
    `  API          ${api.map((at) => `http://${at}`).join('  ')}`,
    `  admin        ${admin.join('  ')}`,
    `  swarm port   ${swarm.join('  ')}`,
    `  data folder  ${node.folder}`,
  ]
  if (node.usesPublicSwarmKey)
    lines.push(
      '  swarm key    the public default: anyone on this network can join. Set one of your own, which is used at once:',
      `                 shoal settings set /swarm/swarmKey "$(shoal swarms keygen)" --working-dir '${node.folder}'`,
    )
  lines.push(`  try          curl http://${api[0] ?? ''}/api/v2/node/id`, '  stop         Ctrl+C', '', '')
  return lines.join('\n')
}
