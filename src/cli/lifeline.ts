import { Socket } from 'node:net'

/**
 * On a machine with an old Node the launcher (bin/shoal) runs this process, and has passed it one end of a pipe. Signals
 * that reach the launcher come through it as lines. When the launcher is gone without a word, so is this process.
 */
export function onLauncherSignal(listener: (signal: NodeJS.Signals) => void): void {
  const descriptor = Number(process.env['SHOAL_LIFELINE'])
  if (!Number.isInteger(descriptor) || descriptor < 3) return
  delete process.env['SHOAL_LIFELINE']
  const lifeline = new Socket({ fd: descriptor, readable: true, writable: false })
  lifeline.unref()
  lifeline.setEncoding('utf8')
  lifeline.on('error', () => {})
  lifeline.on('data', (text: string) => {
    for (const signal of text.split('\n').filter(isSignal)) listener(signal)
  })
  lifeline.on('close', () => process.kill(process.pid, 'SIGKILL'))
}

function isSignal(text: string): text is NodeJS.Signals {
  return /^SIG[A-Z]+$/.test(text)
}
