import { escapeLine } from '../../base/control-characters.ts'
import { ratesBetween } from './rates.ts'
import type { PeerSnapshot, Snapshot } from './snapshot.ts'

export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/** The lines of the screen, cut to its size. Names come from nodes: control characters are escaped. */
export function screenLines(earlier: Snapshot, later: Snapshot, { columns, rows }: ScreenSize): string[] {
  const lines = [...summary(earlier, later), '', ...peerLines(later.peers)].map(escapeLine)
  const shown = lines.length > rows ? [...lines.slice(0, Math.max(0, rows - 1)), '…'] : lines
  return shown.slice(0, rows).map((line) => Array.from(line).slice(0, columns).join(''))
}

function summary(earlier: Snapshot, later: Snapshot): string[] {
  const { displayName, nodeId, phase, uptimeSeconds, runningQueries, subscriptions } = later
  const rates = ratesBetween(earlier, later)
  const missing = later.peers.reduce((most, peer) => Math.max(most, peer.missing), 0)
  const row = (name: string, ...cells: string[]): string =>
    name.padEnd(10) + cells.map((cell) => cell.padEnd(22)).join('')
  return [
    `${displayName}  ${nodeId}  ${phase}, up ${durationText(uptimeSeconds)}`,
    '',
    row(
      'events',
      `${perSecond(rates.published)} published`,
      `${perSecond(rates.received)} received`,
      `${missing} missing here`,
    ),
    row('queries', `${runningQueries} running`, `${perSecond(rates.queries)} ended`, `${subscriptions} subscriptions`),
    row(
      'storage',
      `${bytesText(later.storeBytes)} events`,
      `${bytesText(later.filesBytes)} files`,
      `${bytesText(later.freeBytes)} free on disk`,
    ),
    row('process', `${percent(rates.cpuPercent)} CPU`, `${bytesText(later.memoryBytes)} memory`),
  ].map((line) => line.trimEnd())
}

function peerLines(peers: readonly PeerSnapshot[]): string[] {
  if (peers.length === 0) return ['No other node is connected.']
  const columns = (node: string, ...numbers: string[]): string =>
    node.padEnd(30) + numbers.map((cell) => cell.padStart(14)).join('')
  // Those that are furthest behind first.
  const sorted = [...peers].sort((a, b) => b.lag + b.missing - a.lag - a.missing || (a.nodeId < b.nodeId ? -1 : 1))
  return [
    columns(`PEERS (${peers.length})`, 'LAG', 'MISSING HERE', 'ROUND TRIP'),
    ...sorted.map(({ nodeId, name, lag, missing, roundTripSeconds }) =>
      columns(
        `${nodeId.slice(0, 8)}  ${name}`.slice(0, 29),
        String(lag),
        String(missing),
        roundTripText(roundTripSeconds),
      ),
    ),
  ]
}

function perSecond(rate: number | undefined): string {
  return rate === undefined ? '-/s' : `${rate >= 100 ? Math.round(rate) : rate.toFixed(1)}/s`
}

function percent(value: number | undefined): string {
  return value === undefined ? '- %' : `${Math.round(value)} %`
}

function roundTripText(seconds: number | undefined): string {
  if (seconds === undefined) return '-'
  return seconds >= 0.01 ? `${Math.round(seconds * 1000)} ms` : `${Math.round(seconds * 1e6)} µs`
}

const units = ['KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytesText(bytes: number): string {
  let [value, unit]: [number, string] = [bytes, 'B']
  for (const next of units) {
    if (value < 1024) break
    value /= 1024
    unit = next
  }
  return `${unit === 'B' || value >= 100 ? Math.round(value) : value.toFixed(1)} ${unit}`
}

export function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  const [hours, days] = [Math.floor(minutes / 60), Math.floor(minutes / 1440)]
  if (days > 0) return `${days} d ${hours % 24} h`
  if (hours > 0) return `${hours} h ${minutes % 60} min`
  return minutes > 0 ? `${minutes} min` : `${Math.floor(seconds)} s`
}
