import assert from 'node:assert/strict'
import type { SiteNode } from '../../scripts/site/site-node.ts'
import { eventually } from './swarm-of.ts'

/** Uploads files, and returns the content identifier. */
export async function upload(
  node: SiteNode,
  files: Readonly<Record<string, Uint8Array<ArrayBuffer> | string>>,
): Promise<string> {
  const form = new FormData()
  for (const [name, content] of Object.entries(files)) form.append('file', new Blob([content]), name)
  const response = await node.send('POST', '/api/v2/files', form)
  assert.equal(response.status, 200)
  return await response.text()
}

/** Names uploaded content, which makes it a website. */
export async function nameContent(node: SiteNode, name: string, cid: string): Promise<void> {
  const response = await node.send('PUT', `/api/v2/files/${name}`, cid, { 'content-type': 'text/plain' })
  assert.ok(response.ok, await response.text())
}

/** Waits until a file can be read on a node. */
export async function readable(node: SiteNode, path: string): Promise<Buffer> {
  let last = 0
  return await eventually(
    async () => {
      const response = await node.request('GET', `/api/v2/files/${path}`)
      last = response.status
      const bytes = Buffer.from(await response.arrayBuffer())
      return response.ok ? bytes : undefined
    },
    () => `${path} is answered with ${last}`,
  )
}
