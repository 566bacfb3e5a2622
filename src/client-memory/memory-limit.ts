import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'

/** Parses the value of `--memory-limit` or `SHOAL_MEMORY_LIMIT` into bytes. */
export function parseMemoryLimit(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,12})(?:([kmg])(?:i?b)?|b)?$/i.exec(text.trim()) ?? []
  const factor = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }[unit.toLowerCase()] ?? 1
  const bytes = Number(digits) * factor
  if (digits === undefined || bytes < limits.minClientMemory || bytes > limits.maxClientMemory)
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `--memory-limit: '${text}' is not a size from ${sizeText(limits.minClientMemory)} to ${sizeText(limits.maxClientMemory)}. Write for example 256MiB.`,
    )
  return bytes
}

/**
 * The default limit: a quarter of the memory available to the process, which is the cgroup limit where there is one.
 * Part of the charged memory is on V8's heap, so the limit is at most half of a heap.
 */
export function defaultMemoryLimit(
  // Without a cgroup limit Node returns 0 or 2^64.
  processBytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
  heapBytes = getHeapStatistics().heap_size_limit,
): number {
  const bytes = Math.min(limits.clientMemory, processBytes / 4, heapBytes / 2)
  return Math.max(limits.minClientMemory, Math.floor(bytes))
}

function sizeText(bytes: number): string {
  return bytes >= 2 ** 30 ? `${bytes / 2 ** 30}GiB` : `${bytes / 2 ** 20}MiB`
}
