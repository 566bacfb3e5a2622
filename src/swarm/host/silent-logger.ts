import type { ComponentLogger, Logger } from '@libp2p/interface'

function nothing(): void {}

/** Drops the log lines of libp2p: what operators need to know is reported in plain words. Formatting them costs time. */
const logger: Logger = Object.assign(nothing, {
  error: nothing,
  trace: nothing,
  enabled: false,
  newScope: () => logger,
})

export const silentLogger: ComponentLogger = { forComponent: () => logger }
