import { isLoopback, socketText } from '../listening/listen.ts'
import type { Logger } from '../logging/index.ts'
import type { Addresses } from './listeners.ts'

interface Started {
  readonly id: string
  /** The data folder. */
  readonly folder: string
  readonly addresses: Pick<Addresses, 'api'>
}

/** Says what runs here, and warns when other machines can use it. */
export function reportStart({ id, folder, addresses: { api } }: Started, log: Logger): void {
  const urls = api.map((at) => `http://${socketText(at)}`)
  log.info(`node ${id}, API ${urls.join(' and ')}, data folder ${folder}`)
  const open = api.filter(({ address }) => !isLoopback(address)).map(socketText)
  if (open.length > 0)
    log
      .module('api')
      .warn(
        `The API listens on ${open.join(' and ')}: programs on other machines can get tokens, read and publish. \`--bind-api localhost\` keeps it on this machine.`,
      )
}
