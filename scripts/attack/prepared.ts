import type { Victim } from './victim.ts'

export const smallTag = 'attack:small'
export const largeTag = 'attack:large'
/** The name of the website. */
export const siteName = 'attack'
export const blobPath = '/api/v2/blob/-/attack'

const mebibyte = 1024 * 1024

/** Twenty thousand small events. */
export function smallEvents(victim: Victim): Promise<void> {
  return victim.prepareOnce('small events', async () => {
    for (let first = 0; first < 20_000; first += 5000) {
      const payloads = Array.from({ length: 5000 }, (_, i) => ({ n: first + i, text: 'of a usual length'.repeat(4) }))
      await victim.publish([smallTag], payloads)
    }
  })
}

/** Events with payloads close to the maximum size. */
export function largeEvents(victim: Victim): Promise<void> {
  return victim.prepareOnce('large events', async () => {
    const text = 'x'.repeat(8 * mebibyte - 64)
    for (let n = 0; n < 4; n++) await victim.publish([largeTag], [text])
  })
}

/** A website with a file of 32 MiB. */
export function largeFile(victim: Victim): Promise<void> {
  return victim.prepareOnce('a large file', async () => {
    const head = '--limit\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n'
    const content = Buffer.alloc(32 * mebibyte)
    // All blocks differ; otherwise they would be deduplicated.
    for (let at = 0; at < content.length; at += 4) content.writeUInt32LE(at, at)
    const form = Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n--limit--\r\n')])
    const cid = await victim.request('POST', '/api/v2/files', 'multipart/form-data; boundary=limit', form)
    await victim.request('PUT', `/api/v2/files/${siteName}`, 'text/plain', cid)
  })
}

/** A blob of the maximum size. */
export function largeBlob(victim: Victim): Promise<void> {
  return victim.prepareOnce('a large blob', async () => {
    await victim.request('PUT', blobPath, 'application/octet-stream', Buffer.alloc(10 * mebibyte, 'blob'))
  })
}
