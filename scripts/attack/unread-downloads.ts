import type { Attack } from './attack.ts'
import { blobPath, largeBlob, largeFile, siteName } from './prepared.ts'
import { headOf, leaveUnread } from './raw-http.ts'
import { crowd } from './raw-socket.ts'

/** Unread downloads of a website (no token needed), of a file and of a blob. */
export const unreadDownloads: Attack = {
  name: 'unread-downloads',
  description:
    '2,000 downloads of a website of 32 MiB, 200 of the file and 100 of a blob of 10 MiB, none of which is read',
  goal: { answers: 2300 },
  async prepare(victim) {
    await largeFile(victim)
    await largeBlob(victim)
  },
  async run(assault) {
    const { victim, signal } = assault
    const host = `${siteName}.shoal.localhost:${victim.port}`
    const site = headOf(victim, { method: 'GET', path: '/', host, hasToken: false })
    const file = headOf(victim, { method: 'GET', path: `/api/v2/files/${siteName}` })
    const blob = headOf(victim, { method: 'GET', path: blobPath })
    await Promise.all([
      crowd(100, signal, () => leaveUnread(assault, blob)),
      crowd(200, signal, () => leaveUnread(assault, file)),
      crowd(2000, signal, () => leaveUnread(assault, site)),
    ])
  },
}
