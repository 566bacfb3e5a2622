/** Resident set size of the process in bytes; undefined when there is no free file descriptor to read it. */
export function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss()
  } catch {
    return undefined
  }
}
